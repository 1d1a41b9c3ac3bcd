import * as vscode from 'vscode';

import { registerAgentTools } from './agents/agentTools';
import { Answers } from './panels/answers';
import { CausesView } from './runs/causes';
import { Changes } from './runs/changes';
import { Server } from './client';
import { registerCommands } from './commands';
import { Debugging } from './runs/debugging';
import { Decorations } from './suspects/decorations';
import { Explanations } from './panels/explanations';
import { setTranslator } from './l10n';
import { registerMcpServer } from './agents/mcpServer';
import { destination } from './locations';
import { Model } from './model';
import { onDidChangeInterpreter } from './environment/pythonExtension';
import { RunOffer } from './testing/runOffer';
import { NativeProject } from './environment/nativeProject';
import { RunLines } from './runs/runLines';
import { Runs } from './runs/runs';
import { Slices } from './runs/slices';
import { StatusItem } from './status';
import { SuspectsView } from './suspects/suspectsView';
import { Terminals } from './environment/terminals';
import { Testing } from './testing/testing';
import { TestingView } from './testing/testingView';

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  setTranslator((message, ...values) => vscode.l10n.t(message, ...values));
  const output = vscode.window.createOutputChannel('Suspectra', { log: true });
  const { version, contributes } = context.extension.packageJSON as {
    version: string;
    contributes: { languageModelTools: { name: string }[] };
  };
  const started = new Server(
    {
      folder: context.extensionPath,
      storage: context.globalStorageUri.fsPath,
      version,
    },
    output,
  );
  server = started;
  const model = new Model(started);
  const status = new StatusItem(model);
  const offer = new RunOffer(model, context.globalState);
  const view = new SuspectsView(model, context.workspaceState, offer);
  const runs = new Runs(started);
  const slices = new Slices(started);
  const testing = new Testing(started, model);
  const testingView = new TestingView(started);
  const restart = () => void started.restart();

  context.subscriptions.push(
    output,
    model,
    status,
    view,
    slices,
    new CausesView(started, model),
    runs,
    new Changes(started, runs),
    new RunLines(started),
    new NativeProject(() => started.addPartsForC()),
    offer,
    registerAgentTools(started, contributes.languageModelTools),
    registerMcpServer(started, context.extensionPath),
    new Debugging(started, context.workspaceState),
    new Explanations(started, model),
    new Answers(started),
    new Decorations(model),
    new Terminals(started, context.environmentVariableCollection),
    testing,
    testingView,
    registerCommands({ server: started, model, view, status, slices, testing, testingView }),
    started.onDidExecute((done) => {
      const target = destination(done);
      if (target) {
        view.reveal(target);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      const folders = vscode.workspace.workspaceFolders?.length ?? 0;
      if (folders === added.length || (!folders && removed.length)) {
        restart(); // the first folders came, or the last ones went
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (['interpreter', 'importStrategy'].some((name) => event.affectsConfiguration(`suspectra.${name}`))) {
        restart();
      } else if (event.affectsConfiguration('suspectra.cTests')) {
        void started.addPartsForC();
      }
    }),
  );
  // Starting Python takes a while, so the editor does not wait for it.
  restart();
  void onDidChangeInterpreter(restart).then((listener) => listener && context.subscriptions.push(listener));
}

export function deactivate(): Promise<void> | undefined {
  return server?.dispose();
}
