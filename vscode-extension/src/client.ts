/** The server: finding an interpreter for it, starting it, talking to it. */

import { join } from 'node:path';

import * as vscode from 'vscode';
import type { CloseHandlerResult, LanguageClient, LanguageClientOptions } from 'vscode-languageclient/node';

import { Crashes } from './crashes';
import { existing, make, NotMade, wheelIn } from './privateEnvironment';
import { t } from './l10n';
import { methods, serverCommands, type Status } from './protocol';
import { ask, candidates, type Interpreter, interpreterSetting, type NotFound, search, shown } from './python';
import { activeInterpreter } from './pythonExtension';
import { RunNotification } from './runNotification';
import type { Condition } from './words';

const DOCUMENTS = ['python', 'c', 'cpp'].map((language) => ({ scheme: 'file', language }));

type Library = typeof import('./library');
let library: Library;

/** What the extension is to its server. */
export interface Home {
  /** The folder of the extension. Processes start there: in the workspace, files could shadow the server's modules. */
  folder: string;
  /** Where a private environment may be made. */
  storage: string;
  version: string;
}

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly changed = new vscode.EventEmitter<Condition>();
  private readonly executed = new vscode.EventEmitter<{ command: string; result: unknown }>();
  private readonly crashes = new Crashes();
  private readonly runs = new RunNotification((token) =>
    this.client?.sendNotification('window/workDoneProgress/cancel', { token }),
  );
  private again: NodeJS.Timeout | undefined;
  private making: AbortController | undefined;
  private readonly notified = new Set<string>();
  private queue: Promise<void> = Promise.resolve();

  /** Fires with every status: also when the state stays and the suspects behind it changed. */
  readonly onDidChange = this.changed.event;

  /** Fires with the result of every server command, whether the palette, a lens or a code action gave it. */
  readonly onDidExecute = this.executed.event;

  constructor(
    private readonly home: Home,
    readonly output: vscode.LogOutputChannel,
  ) {}

  /** Start, or stop and start again. Calls are done one after another. */
  restart(): Promise<void> {
    this.crashes.forget();
    this.cancelInstallation();
    return this.startAgain();
  }

  /** End the making of a private environment, if one is being made. */
  cancelInstallation(): void {
    this.making?.abort();
  }

  private startAgain(): Promise<void> {
    clearTimeout(this.again);
    this.queue = this.queue.then(async () => {
      try {
        await this.stop();
        await this.start();
      } catch (error) {
        this.fail(
          t('The server did not start: {0}', String(error)),
          t('See the output “Suspectra”, then restart the server'),
        );
      }
    });
    return this.queue;
  }

  /** Ask the server. What is asked while it is being installed or started waits for it. */
  async request<Result>(method: string, params: unknown): Promise<Result> {
    await this.queue;
    if (!this.client) {
      throw new Error(t('The Suspectra server is not running. See the output “Suspectra” for the reason.'));
    }
    return this.client.sendRequest<Result>(method, params);
  }

  async command(command: string, ...args: unknown[]): Promise<unknown> {
    const result = await this.request('workspace/executeCommand', { command, arguments: args });
    this.executed.fire({ command, result });
    return result;
  }

  dispose(): Promise<void> {
    clearTimeout(this.again);
    this.cancelInstallation();
    this.changed.dispose();
    this.executed.dispose();
    return this.stop();
  }

  private async start(): Promise<void> {
    if (!vscode.workspace.workspaceFolders?.length) {
      this.changed.fire({ state: 'noFolder' }); // there is nothing to serve, and nothing to install for it
      return;
    }
    this.changed.fire({ state: 'starting' });
    const interpreter = await this.interpreter();
    if ('problem' in interpreter) {
      this.fail(interpreter.problem, interpreter.cure);
      return;
    }
    library = await import('./library');
    const { command, args } = interpreter;
    this.output.info(`Starting the server with ${shown(interpreter)} (${interpreter.origin})`);
    const client = new library.LanguageClient(
      'suspectra',
      'Suspectra',
      { command, args: [...args, '-m', 'suspectra_server'], options: { cwd: this.home.folder } },
      this.options(),
    );
    client.registerFeature({
      fillClientCapabilities(capabilities) {
        capabilities.experimental = { ...(capabilities.experimental as object), suspectra: { status: true } };
      },
      initialize: () => undefined,
      getState: () => ({ kind: 'static' }),
      clear: () => undefined,
    });
    client.onNotification(methods.status, (status: Status) => this.changed.fire(status));
    client.onDidChangeState(({ newState }) => {
      if (newState === library.State.Starting) {
        this.changed.fire({ state: 'starting' });
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      this.output.error(String(error));
      this.fail(t('The server did not start'), t('See the output “Suspectra” for what it said'));
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.runs.end();
    await client?.dispose().catch((error: unknown) => this.output.warn(String(error)));
  }

  /** An environment's own Suspectra, or the one that came with the extension in an environment made for it. */
  private async interpreter(): Promise<Interpreter | NotFound> {
    const trusted = vscode.workspace.isTrusted;
    const settings = vscode.workspace.getConfiguration('suspectra');
    const result = await search(
      candidates({
        setting: interpreterSetting(settings.get<unknown>('interpreter'), (problem) => this.output.warn(problem)),
        active: trusted ? await activeInterpreter() : undefined,
        folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
        trusted,
        platform: process.platform,
      }),
      { version: this.home.version, fromEnvironment: settings.get<string>('importStrategy') !== 'useBundled' },
      (interpreter) => ask(interpreter, this.home.folder),
    );
    for (const line of result.tried) {
      this.output.info(line);
    }
    const wheel = wheelIn(join(this.home.folder, 'bundled'));
    if ('found' in result) {
      return result.found;
    }
    return result.base && wheel ? this.ownEnvironment(result, result.base, wheel) : result;
  }

  private async ownEnvironment(
    result: NotFound,
    base: NonNullable<NotFound['base']>,
    wheel: string,
  ): Promise<Interpreter | NotFound> {
    const { storage, folder: cwd } = this.home;
    const made = await existing({ base, wheel, storage, cwd });
    if (made) {
      return made;
    }
    this.output.info(`${result.problem}: installing ${wheel} in a private environment in ${storage}`);
    this.making = new AbortController();
    const { signal } = this.making;
    const title = t('Installing the server for Python {0}', base.python);
    this.changed.fire({ state: 'installing', message: title });
    try {
      return await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: `Suspectra: ${title}` },
        () => make({ base, wheel, storage, cwd, signal, say: (line) => this.output.info(line) }),
      );
    } catch (error) {
      const { problem, cure } =
        error instanceof NotMade
          ? error
          : new NotMade(t('The server could not be installed: {0}', String(error)), result.cure);
      return { ...result, problem, cure };
    } finally {
      this.making = undefined;
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENTS,
      outputChannel: this.output,
      initializationOptions: { trusted: vscode.workspace.isTrusted },
      revealOutputChannelOn: library.RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (_error, _message, count = 0) => ({
          action: count <= 3 ? library.ErrorAction.Continue : library.ErrorAction.Shutdown,
          handled: true,
        }),
        closed: () => this.closed(),
      },
      middleware: {
        // the only work the server reports is a test run: who waits for it sees it, and may end it there
        handleWorkDoneProgress: (token, params) => this.runs.take(token, params),
        workspace: {
          configuration: async (params, token, next) => {
            const answers = await next(params, token);
            return Array.isArray(answers)
              ? Promise.all(answers.map((answer, at) => withTestInterpreter(answer, params.items[at]?.scopeUri)))
              : answers;
          },
        },
        executeCommand: (command, args: unknown[]) => {
          // What would have the server ask in its own plain way is asked by a list of the extension's.
          if (command === serverCommands.selectTechnique && !args.length) {
            return vscode.commands.executeCommand('suspectra.ui.selectTechnique');
          }
          if (command === serverCommands.jump && !args[1]) {
            return vscode.commands.executeCommand('suspectra.ui.jump', args[0]);
          }
          return this.command(command, ...args);
        },
      },
    };
  }

  /** The connection was lost. A server that ran is started again, each time a little later, but not for ever. */
  private closed(): CloseHandlerResult {
    const handled = { action: library.CloseAction.DoNotRestart, handled: true };
    if (this.client?.state !== library.State.Running) {
      return handled;
    }
    const delay = this.crashes.count();
    if (delay === undefined) {
      this.fail(
        t('The server crashed more than {0} times in {1} minutes', Crashes.most, Crashes.minutes),
        t('See the output “Suspectra” for the reason, then run “Suspectra: Restart Server”'),
      );
    } else {
      this.output.warn(`The server ended unexpectedly; it is started again in ${delay / 1000} seconds`);
      this.changed.fire({ state: 'starting' });
      this.again = setTimeout(() => void this.startAgain(), delay);
    }
    return handled;
  }

  private fail(problem: string, cure: string): void {
    this.output.error(`${problem}. Fix: ${cure}`);
    this.changed.fire({ state: 'noServer', problem, cure });
    // Nobody asked for this: it is said once, and only to those who want such messages.
    const wanted = vscode.workspace.getConfiguration('suspectra').get<string>('showNotifications', 'off');
    if (wanted !== 'off' && !this.notified.has(problem)) {
      this.notified.add(problem);
      void vscode.window.showErrorMessage(`Suspectra: ${t('{0}. Fix: {1}', problem, cure)}`);
    }
  }
}

/** The settings of a folder, with the environment selected there to run the tests in unless the user named one. */
async function withTestInterpreter(settings: unknown, scope: string | undefined): Promise<unknown> {
  const plain = typeof settings === 'object' && settings !== null && 'testInterpreter' in settings;
  if (!plain || settings.testInterpreter || !vscode.workspace.isTrusted) {
    return settings;
  }
  const selected = await activeInterpreter(scope ? vscode.Uri.parse(scope) : undefined);
  return selected ? { ...settings, testInterpreter: selected } : settings;
}
