/** The server: finding an interpreter for it, starting it, talking to it. */

import * as vscode from 'vscode';
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
} from 'vscode-languageclient/node';

import { methods, serverCommands, type Status } from './protocol';
import { ask, candidates, search } from './python';
import { activeInterpreter } from './pythonExtension';
import type { Condition } from './words';

const DOCUMENTS = [{ scheme: 'file', language: 'python' }];

const MAX_CRASHES = 4;
const CRASH_MINUTES = 3;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly changed = new vscode.EventEmitter<Condition>();
  private readonly executed = new vscode.EventEmitter<{ command: string; result: unknown }>();
  private readonly crashes: number[] = [];
  private readonly notified = new Set<string>();
  private queue: Promise<void> = Promise.resolve();

  /** Fires with every status: also when the state stays and the suspects behind it changed. */
  readonly onDidChange = this.changed.event;

  /** Fires with the result of every server command, whether the palette, a lens or a code action gave it. */
  readonly onDidExecute = this.executed.event;

  /** @param home Where processes are started: outside the workspace, whose files must not shadow the server's modules. */
  constructor(
    private readonly home: string,
    readonly output: vscode.LogOutputChannel,
  ) {}

  /** Start, or stop and start again. Calls are done one after another. */
  restart(): Promise<void> {
    this.queue = this.queue.then(async () => {
      await this.stop();
      await this.start();
    });
    return this.queue;
  }

  async request<Result>(method: string, params: unknown): Promise<Result> {
    if (!this.client) {
      throw new Error('The Suspectra server is not running. See the output “Suspectra” for the reason.');
    }
    return this.client.sendRequest<Result>(method, params);
  }

  async command(command: string, ...args: unknown[]): Promise<unknown> {
    const result = await this.request(ExecuteCommandRequest.method, { command, arguments: args });
    this.executed.fire({ command, result });
    return result;
  }

  dispose(): Promise<void> {
    this.changed.dispose();
    this.executed.dispose();
    return this.stop();
  }

  private async start(): Promise<void> {
    this.changed.fire({ state: 'starting' });
    this.crashes.length = 0;
    const result = await this.interpreter();
    if ('problem' in result) {
      return this.fail(result.problem, result.cure);
    }
    const { command, args } = result.found;
    this.output.info(`Starting the server: Python ${result.python}, Suspectra ${result.suspectra}, ${command}`);
    const client = new LanguageClient(
      'suspectra',
      'Suspectra',
      { command, args: [...args, '-m', 'suspectra_server'], options: { cwd: this.home } },
      this.options(),
    );
    client.registerFeature({
      fillClientCapabilities(capabilities) {
        capabilities.experimental = { ...capabilities.experimental, suspectra: { status: true } };
      },
      initialize() {},
      getState: () => ({ kind: 'static' }),
      clear() {},
    });
    client.onNotification(methods.status, (status: Status) => this.changed.fire(status));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Starting) {
        this.changed.fire({ state: 'starting' });
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      this.output.error(String(error));
      this.fail('The server did not start', 'See the output “Suspectra” for what it said');
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.output.warn(String(error)));
  }

  private async interpreter() {
    const trusted = vscode.workspace.isTrusted;
    const result = await search(
      candidates({
        setting: vscode.workspace.getConfiguration('suspectra').get<string[]>('interpreter', []),
        active: trusted ? await activeInterpreter() : undefined,
        folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
        trusted,
        platform: process.platform,
      }),
      (interpreter) => ask(interpreter, this.home),
    );
    for (const line of result.tried) {
      this.output.info(line);
    }
    return result;
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENTS,
      outputChannel: this.output,
      initializationOptions: { trusted: vscode.workspace.isTrusted },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (_error, _message, count = 0) => ({
          action: count <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
          handled: true,
        }),
        closed: () => this.closed(),
      },
      middleware: {
        executeCommand: (command, args) =>
          // Without a name the server would ask in its own plain way; the quick pick is the better question.
          command === serverCommands.selectTechnique && !args.length
            ? vscode.commands.executeCommand('suspectra.ui.selectTechnique')
            : this.command(command, ...args),
      },
    };
  }

  /** The connection was lost. A server that ran is started again, but not for ever. */
  private closed(): CloseHandlerResult {
    if (this.client?.state !== State.Running) {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    this.crashes.push(Date.now());
    if (this.crashes.filter((time) => time > Date.now() - CRASH_MINUTES * 60_000).length <= MAX_CRASHES) {
      return { action: CloseAction.Restart, handled: true };
    }
    this.fail(
      `The server crashed more than ${MAX_CRASHES} times in ${CRASH_MINUTES} minutes`,
      'See the output “Suspectra” for the reason, then run “Suspectra: Restart Server”',
    );
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  private fail(problem: string, cure: string): void {
    this.output.error(`${problem}. To mend it: ${cure}`);
    this.changed.fire({ state: 'noServer', problem, cure });
    // Nobody asked for this: it is said once, and only to those who want such messages.
    const wanted = vscode.workspace.getConfiguration('suspectra').get<string>('showNotifications', 'off');
    if (wanted !== 'off' && !this.notified.has(problem)) {
      this.notified.add(problem);
      void vscode.window.showErrorMessage(`Suspectra: ${problem}. To mend it: ${cure}`);
    }
  }
}
