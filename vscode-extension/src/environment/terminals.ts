/** Terminals in which every pytest is recorded, if the user asks for it. */

import { delimiter } from 'node:path';

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { type CommandLine, methods } from '../protocol';

const SETTING = 'recordTerminals';

export class Terminals implements vscode.Disposable {
  private readonly listeners: vscode.Disposable;
  /** What the terminals of each folder got, by its URI. */
  private readonly given = new Map<string, string>();
  private current = false;

  constructor(
    private readonly server: Server,
    private readonly variables: vscode.GlobalEnvironmentVariableCollection,
  ) {
    variables.persistent = false; // the recorder may be in another folder in the next session
    const update = () => {
      this.current = false;
      void this.update();
    };
    this.listeners = vscode.Disposable.from(
      server.onDidChange(({ state }) => {
        if (state === 'starting') {
          this.current = false; // another server may come with another recorder
        } else if (state === 'ready' || state === 'noEvidence') {
          void this.update();
        }
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`suspectra.${SETTING}`)) {
          update();
        }
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(update),
    );
    update();
  }

  /** Change the terminals of each folder whose setting says so, and no others. */
  async update(): Promise<void> {
    if (this.current) {
      return;
    }
    this.current = true;
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const wanted = vscode.workspace.getConfiguration('suspectra', folder.uri).get<boolean>(SETTING, false);
      try {
        this.give(folder, wanted && vscode.workspace.isTrusted ? await this.environment(folder) : {});
      } catch {
        this.current = false; // the server does not run, and says so itself; it is asked again when it does
      }
    }
  }

  private async environment(folder: vscode.WorkspaceFolder): Promise<Record<string, string>> {
    const params = { folder: folder.uri.toString() };
    const answer = await this.server.request<CommandLine | null>(methods.commandLine, params);
    return answer?.environment ?? {};
  }

  private give(folder: vscode.WorkspaceFolder, environment: Record<string, string>): void {
    const [key, text] = [folder.uri.toString(), JSON.stringify(environment)];
    if ((this.given.get(key) ?? '{}') === text) {
      return; // VS Code asks to start terminals anew after each change
    }
    this.given.set(key, text);
    const scoped = this.variables.getScoped({ workspaceFolder: folder });
    scoped.clear();
    scoped.description = t(
      'Records what pytest runs in this folder: `PYTHONPATH` begins with the folder of the recorder, `SUSPECTRA_WORKSPACE` names this folder, and `SUSPECTRA_PYTHON` the Python that ranks. The setting `suspectra.recordTerminals` turns it off.',
    );
    for (const [name, value] of Object.entries(environment)) {
      if (name === 'PYTHONPATH') {
        scoped.prepend(name, value + delimiter);
      } else {
        scoped.replace(name, value);
      }
    }
  }

  dispose(): void {
    this.listeners.dispose();
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      this.variables.getScoped({ workspaceFolder: folder }).clear();
    }
  }
}
