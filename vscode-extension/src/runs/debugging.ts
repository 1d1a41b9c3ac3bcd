/**
 * Debugging a failing test. The server says what to run and where to stop; the extension Python Debugger runs it. A
 * breakpoint that is not the user's lasts as long as the session, whether that ends or the window does.
 */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { type DebugLaunch, serverCommands } from '../protocol';

export const DEBUGGER = 'ms-python.debugpy';

const COMMANDS: ReadonlySet<string> = new Set([
  serverCommands.debugHere,
  serverCommands.debugTest,
  serverCommands.debugChain,
]);
const KEPT = 'suspectra.breakpoints';
const MARK = 'suspectraSession'; // a field of the configuration, by which a session is recognised

interface Place {
  uri: string;
  line: number;
}

/** A breakpoint that lasts as long as the sessions that asked for it. */
interface Loan {
  place: Place;
  breakpoint: vscode.SourceBreakpoint;
  sessions: Set<string>;
  /** The user's own on that line, which are switched off: they come back, since VS Code has one breakpoint a line. */
  replaced: vscode.SourceBreakpoint[];
}

export class Debugging implements vscode.Disposable {
  private readonly disposables: vscode.Disposable;
  private loans: Loan[] = [];
  private sessions = 0;

  constructor(
    server: Server,
    private readonly memory: vscode.Memento,
  ) {
    this.disposables = vscode.Disposable.from(
      server.onDidExecute(({ command, result }) => {
        if (COMMANDS.has(command) && result) {
          void this.start(result as DebugLaunch);
        }
      }),
      vscode.debug.onDidTerminateDebugSession(({ configuration }) => this.end(String(configuration[MARK]))),
      this.removeLeftOver(),
    );
  }

  dispose(): void {
    this.disposables.dispose();
    for (const id of new Set(this.loans.flatMap(({ sessions }) => [...sessions]))) {
      this.end(id);
    }
  }

  private async start(launch: DebugLaunch): Promise<void> {
    if (!vscode.extensions.getExtension(DEBUGGER)) {
      const install = t('Install');
      const problem = t('Debugging a test needs the extension Python Debugger, which is not installed.');
      if ((await vscode.window.showErrorMessage(`Suspectra: ${problem}`, install)) === install) {
        await vscode.commands.executeCommand('extension.open', DEBUGGER);
      }
      return;
    }
    const id = `${Date.now()}.${++this.sessions}`;
    for (const { uri, range } of launch.stops) {
      this.lend(id, { uri: vscode.Uri.parse(uri).toString(), line: range.start.line });
    }
    this.keep();
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(launch.folder));
    const started = await Promise.resolve(
      vscode.debug.startDebugging(folder, { ...configuration(launch), [MARK]: id }),
    ).catch(() => false);
    if (!started) {
      this.end(id);
      const problem = t('The debugger did not start. See the output “Python Debugger” for the reason.');
      void vscode.window.showErrorMessage(`Suspectra: ${problem}`);
    }
  }

  /** See to it that a session stops at a place. */
  private lend(id: string, place: Place): void {
    const lent = this.loans.find((loan) => loan.place.uri === place.uri && loan.place.line === place.line);
    const own = sourceBreakpoints().filter((one) => isAt(one, place));
    if (lent) {
      lent.sessions.add(id);
    } else if (!own.some(({ enabled }) => enabled)) {
      const position = new vscode.Position(place.line, 0);
      const breakpoint = new vscode.SourceBreakpoint(new vscode.Location(vscode.Uri.parse(place.uri), position));
      vscode.debug.removeBreakpoints(own);
      vscode.debug.addBreakpoints([breakpoint]);
      this.loans.push({ place, breakpoint, sessions: new Set([id]), replaced: own });
    }
  }

  /** A session has ended: its breakpoints go, unless another session needs them. */
  private end(id: string): void {
    const ended = this.loans.filter(({ sessions }) => sessions.delete(id) && !sessions.size);
    if (ended.length) {
      this.loans = this.loans.filter((loan) => !ended.includes(loan));
      vscode.debug.removeBreakpoints(ended.map(({ breakpoint }) => breakpoint));
      vscode.debug.addBreakpoints(ended.flatMap(({ replaced }) => replaced));
      this.keep();
    }
  }

  /** A window that was closed left the breakpoints of its sessions behind, since VS Code stores all of them. */
  private removeLeftOver(): vscode.Disposable {
    const places = this.memory.get<Place[]>(KEPT, []);
    const remove = () => {
      const found = sourceBreakpoints().filter((one) => places.some((place) => isAt(one, place)) && isPlain(one));
      if (found.length) {
        vscode.debug.removeBreakpoints(found);
        places.length = 0;
        this.keep();
      }
    };
    remove(); // also the first look at breakpoints, from which on VS Code keeps an extension informed
    return vscode.debug.onDidChangeBreakpoints(remove);
  }

  private keep(): void {
    void this.memory.update(
      KEPT,
      this.loans.map(({ place }) => place),
    );
  }
}

/** What the Python Debugger launches. */
function configuration({ test, root, python, module, arguments: args }: DebugLaunch): vscode.DebugConfiguration {
  return {
    type: 'debugpy',
    request: 'launch',
    name: t('Suspectra: {0}', test),
    module,
    args,
    cwd: root,
    ...(python ? { python } : {}),
    justMyCode: false,
    console: 'internalConsole',
  };
}

function sourceBreakpoints(): vscode.SourceBreakpoint[] {
  return vscode.debug.breakpoints.filter((one) => one instanceof vscode.SourceBreakpoint);
}

function isAt({ location }: vscode.SourceBreakpoint, { uri, line }: Place): boolean {
  return location.uri.toString() === uri && location.range.start.line === line;
}

function isPlain({ condition, hitCondition, logMessage }: vscode.SourceBreakpoint): boolean {
  return !(condition ?? hitCondition ?? logMessage);
}
