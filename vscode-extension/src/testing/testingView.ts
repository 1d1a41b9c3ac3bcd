/** Recording what the Python extension's Testing view runs, if the user asks for it. */

import { delimiter } from 'node:path';

import * as vscode from 'vscode';

import type { Server } from '../client';
import { isRecording, withoutVariables, withVariables } from '../environment/envFile';
import { t } from '../l10n';
import { type CommandLine, methods } from '../protocol';

/** That extension starts tests with the variables of one file of each folder, so ours are put there. */
export class TestingView implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private current = false;

  constructor(private readonly server: Server) {
    this.listener = server.onDidChange(({ state }) => {
      if (state === 'starting') {
        this.current = false; // another server may come with another recorder
      } else if (!this.current && (state === 'ready' || state === 'noEvidence')) {
        this.current = true;
        void this.update();
      }
    });
  }

  /** Ask whether the runs of a folder are to be recorded, or no longer, and do that. */
  async change(): Promise<void> {
    if (!vscode.extensions.getExtension('ms-python.python')) {
      void vscode.window.showInformationMessage(
        t('The Python extension is not installed. What the Testing view runs with Suspectra is recorded already.'),
      );
      return;
    }
    const folder = await chosenFolder();
    if (!folder || !vscode.workspace.isTrusted) {
      return;
    }
    const file = envFile(folder);
    const text = await read(file);
    const name = vscode.workspace.asRelativePath(file, false);
    if (isRecording(text)) {
      const question = t('The tests that the Python extension runs are recorded. Stop that?');
      const detail = t('This removes the lines of Suspectra from {0}, and changes nothing else.', name);
      if (await agreed(question, detail, t('Stop Recording'))) {
        await write(file, withoutVariables(text));
      }
    } else {
      const variables = await this.variables(folder);
      const question = t('Record the tests that the Python extension runs in its Testing view?');
      const detail = t(
        'This adds the variables {0} to {1}, from which that extension takes the environment of tests. They name folders of this machine, so do not commit them. The same command removes them.',
        Object.keys(variables).join(', '),
        name,
      );
      if (await agreed(question, detail, t('Record'))) {
        await write(file, withVariables(text, variables, delimiter));
      }
    }
  }

  /** Name the recorder of this server where an older one is named. */
  private async update(): Promise<void> {
    for (const folder of vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : []) {
      const file = envFile(folder);
      const text = await read(file);
      try {
        const wanted = isRecording(text) ? withVariables(text, await this.variables(folder), delimiter) : text;
        if (wanted !== text) {
          await write(file, wanted);
        }
      } catch {
        this.current = false; // the server does not run, and says so itself; it is asked again when it does
      }
    }
  }

  private async variables(folder: vscode.WorkspaceFolder): Promise<Record<string, string>> {
    const params = { folder: folder.uri.toString() };
    return (await this.server.request<CommandLine>(methods.commandLine, params)).environment;
  }

  dispose(): void {
    this.listener.dispose();
  }
}

async function chosenFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.length > 1 ? vscode.window.showWorkspaceFolderPick() : folders[0];
}

/** The file from which the Python extension takes the environment of what it starts in a folder. */
function envFile(folder: vscode.WorkspaceFolder): vscode.Uri {
  const named = vscode.workspace.getConfiguration('python', folder.uri).get<string>('envFile') ?? '';
  const path = named.replace('${workspaceFolder}', folder.uri.path);
  return path ? folder.uri.with({ path }) : vscode.Uri.joinPath(folder.uri, '.env');
}

async function read(file: vscode.Uri): Promise<string> {
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  } catch {
    return ''; // there is none
  }
}

async function write(file: vscode.Uri, text: string): Promise<void> {
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
}

async function agreed(question: string, detail: string, button: string): Promise<boolean> {
  return (await vscode.window.showInformationMessage(question, { modal: true, detail }, button)) === button;
}
