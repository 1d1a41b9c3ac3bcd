/** The server: finding an interpreter for it, starting it, talking to it. */

import { homedir } from 'node:os';
import { join } from 'node:path';

import * as vscode from 'vscode';
import type {
  CloseHandlerResult,
  LanguageClient,
  LanguageClientOptions,
  WorkspaceEdit,
} from 'vscode-languageclient/node';

import { Crashes } from './crashes';
import {
  addPartsForC,
  createEnvironment,
  findEnvironment,
  InstallationError,
  wheelIn,
} from './environment/privateEnvironment';
import { rememberStorage } from './environment/storage';
import { t } from './l10n';
import { type AnswerSoFar, methods, serverCommands, type Status } from './protocol';
import { askUser } from './questions';
import { withDifference, withMenu } from './lenses';
import {
  ask,
  candidates,
  type Interpreter,
  interpreterSetting,
  type NotFound,
  search,
  shown,
} from './environment/python';
import { isNative } from './environment/nativeProject';
import { activeInterpreter } from './environment/pythonExtension';
import { RunNotification } from './testing/runNotification';
import type { Condition } from './messages';

const DOCUMENTS = ['python', 'c', 'cpp'].map((language) => ({ scheme: 'file', language }));

type Library = typeof import('./library');
let library: Library;

/** The folders of the extension. */
export interface Home {
  /** The folder of the extension. Processes start there: in the workspace, files could shadow the server's modules. */
  folder: string;
  /** Where private environments are created. */
  storage: string;
  version: string;
}

export class Server implements vscode.Disposable {
  /** The interpreter that runs the server. */
  program: Interpreter | undefined;

  private client: LanguageClient | undefined;
  private readonly changed = new vscode.EventEmitter<Condition>();
  private readonly executed = new vscode.EventEmitter<{ command: string; result: unknown }>();
  private readonly foundOut = new vscode.EventEmitter<AnswerSoFar>();
  private readonly crashes = new Crashes();
  private readonly runs = new RunNotification((token) =>
    this.client?.sendNotification('window/workDoneProgress/cancel', { token }),
  );
  private restartTimer: NodeJS.Timeout | undefined;
  private installation: AbortController | undefined;
  private ownEnvironment: { interpreter: Interpreter; wheel: string } | undefined; // the private one, if it is used
  private readonly notified = new Set<string>();
  private queue: Promise<void> = Promise.resolve();

  /** Makes a change of the server, if the user agrees. */
  confirm: (title: string, edit: vscode.WorkspaceEdit) => Promise<boolean> = () => Promise.resolve(false);

  /** Fires with every status. If the state is the same as before, the suspects have changed. */
  readonly onDidChange = this.changed.event;

  /** Fires with the result of every server command, from the palette, a lens or a code action. */
  readonly onDidExecute = this.executed.event;

  /** Fires with what is known of an answer while the server looks for it. */
  readonly onDidFindOut = this.foundOut.event;

  constructor(
    private readonly home: Home,
    readonly output: vscode.LogOutputChannel,
  ) {}

  /** Start the server; stop it first if it runs. Calls are queued. */
  restart(): Promise<void> {
    this.crashes.reset();
    this.cancelInstallation();
    return this.restartClient();
  }

  /** Cancel the installation of the server in a private environment, if there is one. */
  cancelInstallation(): void {
    this.installation?.abort();
  }

  private restartClient(): Promise<void> {
    clearTimeout(this.restartTimer);
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

  /** Send a request to the server. It waits while the server is being installed or started. */
  async request<Result>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<Result> {
    await this.queue;
    if (!this.client) {
      throw new Error(t('The Suspectra server is not running. See the output “Suspectra” for the reason.'));
    }
    return token
      ? this.client.sendRequest<Result>(method, params, token)
      : this.client.sendRequest<Result>(method, params);
  }

  async command(command: string, ...args: unknown[]): Promise<unknown> {
    if (command === serverCommands.findFix) {
      const [folder = null, tests = null, at = null] = args;
      args = [folder, tests, at, true]; // the user chooses here
    }
    const result = await this.request('workspace/executeCommand', { command, arguments: args });
    this.executed.fire({ command, result });
    return result;
  }

  /** An edit as VS Code has it. */
  async edit(sent: WorkspaceEdit): Promise<vscode.WorkspaceEdit> {
    return (await this.client?.protocol2CodeConverter.asWorkspaceEdit(sent)) ?? new vscode.WorkspaceEdit();
  }

  dispose(): Promise<void> {
    clearTimeout(this.restartTimer);
    this.cancelInstallation();
    this.changed.dispose();
    this.executed.dispose();
    this.foundOut.dispose();
    return this.stop();
  }

  private async start(): Promise<void> {
    if (!vscode.workspace.workspaceFolders?.length) {
      this.changed.fire({ state: 'noFolder' }); // nothing to serve
      return;
    }
    this.changed.fire({ state: 'starting' });
    const interpreter = await this.interpreter();
    if ('problem' in interpreter) {
      this.fail(interpreter.problem, interpreter.cure);
      return;
    }
    library = await import('./library');
    this.program = interpreter;
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
        capabilities.experimental = {
          ...(capabilities.experimental as object),
          suspectra: { status: true, commandLinks: true },
        };
      },
      initialize: () => undefined,
      getState: () => ({ kind: 'static' }),
      clear: () => undefined,
    });
    client.onNotification(methods.status, (status: Status) => this.changed.fire(status));
    client.onNotification(methods.answerSoFar, (known: AnswerSoFar) => this.foundOut.fire(known));
    client.onDidChangeState(({ newState }) => {
      if (newState === library.State.Starting) {
        this.changed.fire({ state: 'starting' });
      }
    });
    this.client = client;
    try {
      await client.start();
      client.onRequest('window/showMessageRequest', askUser);
    } catch (error) {
      this.client = undefined;
      this.output.error(String(error));
      this.fail(t('The server did not start'), t('See the output “Suspectra” for the details'));
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.runs.end();
    await client?.dispose().catch((error: unknown) => this.output.warn(String(error)));
  }

  /** The Suspectra of one of the user's environments, or else the bundled one in a private environment. */
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
      {
        version: this.home.version,
        wheels: join(this.home.folder, 'bundled'),
        fromEnvironment: settings.get<string>('importStrategy') !== 'useBundled',
      },
      (interpreter) => ask(interpreter, this.home.folder),
    );
    for (const line of result.tried) {
      this.output.info(line);
    }
    const wheel = wheelIn(join(this.home.folder, 'bundled'));
    this.ownEnvironment = undefined;
    if ('found' in result) {
      return result.found;
    }
    return result.base && wheel ? this.privateEnvironment(result, result.base, wheel) : result;
  }

  private async privateEnvironment(
    result: NotFound,
    base: NonNullable<NotFound['base']>,
    wheel: string,
  ): Promise<Interpreter | NotFound> {
    const { storage, folder: cwd } = this.home;
    rememberStorage(cwd, storage);
    const found = await findEnvironment({ base, wheel, storage, cwd });
    if (!found) {
      this.output.info(`${result.problem}: installing ${wheel} in a private environment in ${storage}`);
      this.changed.fire({ state: 'installing', message: t('Installing the server for Python {0}', base.python) });
    }
    try {
      const interpreter =
        found ??
        (await this.install((signal) => createEnvironment({ base, wheel, storage, cwd, signal, log: this.log })));
      this.ownEnvironment = { interpreter, wheel };
      await this.addPartsForC();
      return interpreter;
    } catch (error) {
      const { problem, cure } =
        error instanceof InstallationError
          ? error
          : new InstallationError(t('The server could not be installed: {0}', String(error)), result.cure);
      return { ...result, problem, cure };
    }
  }

  /** Add to the private environment what recordings of C and C++ need, if a folder may have such tests. */
  async addPartsForC(): Promise<void> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const tests = folders.map(({ uri }) => vscode.workspace.getConfiguration('suspectra', uri).get<string[]>('cTests'));
    const own = this.ownEnvironment;
    if (!own || !vscode.workspace.isTrusted || !(tests.some((words) => words?.length) || (await isNative()))) {
      return;
    }
    try {
      const title = `Suspectra: ${t('Installing what C and C++ need')}`;
      await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
        this.install((signal) =>
          addPartsForC(own.interpreter, { wheel: own.wheel, cwd: this.home.folder, signal, log: this.log }),
        ),
      );
    } catch (error) {
      const { problem, cure } =
        error instanceof InstallationError ? error : { problem: String(error), cure: t('See the output “Suspectra”') };
      this.output.error(`${problem}. Fix: ${cure}`); // Python programs are served all the same
    }
  }

  private readonly log = (line: string) => this.output.info(line);

  private async install<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.installation = new AbortController();
    const { signal } = this.installation;
    try {
      return await work(signal);
    } finally {
      this.installation = undefined;
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENTS,
      outputChannel: this.output,
      // the server makes these links itself, and shows text of the project as it is
      markdown: { isTrusted: { enabledCommands: [serverCommands.explain, serverCommands.investigate] } },
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
        provideCodeLenses: async (document, token, next) => (await next(document, token))?.map(withMenu),
        provideCodeActions: async (document, range, context, token, next) =>
          (await next(document, range, context, token))?.map(withDifference),
        // runs of tests are the only work with progress: each gets a notification with a cancel button
        handleWorkDoneProgress: (token, params) => this.runs.handle(token, params),
        workspace: {
          handleApplyEdit: async ({ label = '', edit }) => ({
            applied: await this.confirm(label, await this.edit(edit)),
          }),
          configuration: async (params, token, next) => {
            const answers = await next(params, token);
            return Array.isArray(answers)
              ? Promise.all(answers.map((answer, at) => withTestInterpreter(answer, params.items[at]?.scopeUri)))
              : answers;
          },
        },
        executeCommand: (command, args: unknown[]) => {
          // Without arguments, the server would ask with a plain message. The extension has better lists.
          if (command === serverCommands.selectTechnique && !args.length) {
            return vscode.commands.executeCommand('suspectra.selectTechnique');
          }
          if (command === serverCommands.jump && !args[1]) {
            return vscode.commands.executeCommand('suspectra.jump', args[0]);
          }
          return this.command(command, ...args);
        },
      },
    };
  }

  /** The connection was lost. A server that was running is restarted a few times, after longer and longer delays. */
  private closed(): CloseHandlerResult {
    const handled = { action: library.CloseAction.DoNotRestart, handled: true };
    if (this.client?.state !== library.State.Running) {
      return handled;
    }
    const delay = this.crashes.count();
    if (delay === undefined) {
      this.fail(
        t('The server crashed more than {0} times in {1} minutes', Crashes.max, Crashes.minutes),
        t('See the output “Suspectra” for the reason, then run “Suspectra: Restart Server”'),
      );
    } else {
      this.output.warn(`The server ended unexpectedly; it is started again in ${delay / 1000} seconds`);
      this.changed.fire({ state: 'starting' });
      this.restartTimer = setTimeout(() => void this.restartClient(), delay);
    }
    return handled;
  }

  private fail(problem: string, cure: string): void {
    this.output.error(`${problem}. Fix: ${cure}`);
    this.changed.fire({ state: 'noServer', problem, cure });
    // The user did not give a command, so each problem is shown once, and only if notifications are on.
    const wanted = vscode.workspace.getConfiguration('suspectra').get<string>('showNotifications', 'off');
    if (wanted !== 'off' && !this.notified.has(problem)) {
      this.notified.add(problem);
      void vscode.window.showErrorMessage(`Suspectra: ${t('{0}. Fix: {1}', problem, cure)}`);
    }
  }
}

/** The interpreter that the setting of the Python extension names, which a workspace may have without the extension. */
function defaultInterpreter(folder = vscode.workspace.workspaceFolders?.[0]?.uri): string | undefined {
  const named = vscode.workspace.getConfiguration('python', folder).get<string>('defaultInterpreterPath', '');
  const path = named.replaceAll(/\$\{workspaceFolder\}/g, folder?.fsPath ?? '').replace(/^~(?=\/)/, homedir());
  return path && path !== 'python' ? path : undefined;
}

/** Settings of a folder. If no test interpreter is set, it is the one selected in the Python extension. */
async function withTestInterpreter(settings: unknown, scope: string | undefined): Promise<unknown> {
  const plain = typeof settings === 'object' && settings !== null && 'testInterpreter' in settings;
  if (!plain || settings.testInterpreter || !vscode.workspace.isTrusted) {
    return settings;
  }
  const folder = scope ? vscode.Uri.parse(scope) : undefined;
  const selected = (await activeInterpreter(folder)) ?? defaultInterpreter(folder);
  return selected ? { ...settings, testInterpreter: selected } : settings;
}
