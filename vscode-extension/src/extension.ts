import * as vscode from 'vscode';

import { Server } from './client';
import { registerCommands } from './commands';
import { Explanations } from './explanations';
import { methods, type Suspects } from './protocol';
import { onDidChangeInterpreter } from './pythonExtension';
import { StatusItem } from './status';
import { SuspectsView } from './suspectsView';
import type { Condition } from './words';

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel('Suspectra', { log: true });
  const started = new Server(
    { folder: context.extensionPath, storage: context.globalStorageUri.fsPath, version: context.extension.packageJSON.version },
    output,
  );
  server = started;
  const status = new StatusItem();
  const view = new SuspectsView();

  const show = async (condition: Condition) => {
    status.show(condition);
    await vscode.commands.executeCommand('setContext', 'suspectra.state', condition.state);
    if (['starting', 'installing', 'noServer'].includes(condition.state)) {
      view.show(undefined);
    } else if (condition.state !== 'ranking' && condition.state !== 'runningTests') {
      const limit = vscode.workspace.getConfiguration('suspectra').get<number>('top', 20);
      view.show(await started.request<Suspects>(methods.suspects, { limit }));
    }
  };
  const restart = () => void started.restart();

  context.subscriptions.push(
    output,
    new Explanations(started),
    status,
    view,
    started.onDidChange((condition) => {
      show(condition).catch((error: unknown) => output.warn(String(error)));
    }),
    registerCommands(started),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (['interpreter', 'importStrategy'].some((name) => event.affectsConfiguration(`suspectra.${name}`))) {
        restart();
      }
    }),
  );
  // Starting Python takes a while: the editor is not kept waiting for it.
  restart();
  void onDidChangeInterpreter(restart).then((listener) => listener && context.subscriptions.push(listener));
}

export function deactivate(): Promise<void> | undefined {
  return server?.dispose();
}
