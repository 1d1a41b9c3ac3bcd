/** A diff of two texts: the lines that a failing and a passing run execute, or a file with and without a change. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { besidePanels } from '../locations';
import { type RunTexts, serverCommands } from '../protocol';

export const SCHEME = 'suspectra-run';
const TITLES = { failing: 'failing', passing: 'passing' } as const;

export class Runs implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly disposables: vscode.Disposable;
  private texts: RunTexts | undefined;

  readonly onDidChange = this.changed.event;

  constructor(server: Server) {
    this.disposables = vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      server.onDidExecute(({ command, result }) => {
        if ((command === serverCommands.compareRuns || command === serverCommands.showDifference) && result) {
          void this.show(result as RunTexts);
        }
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const side = uri.authority === TITLES.passing ? this.texts?.passing : this.texts?.failing;
    return side?.text ?? '';
  }

  dispose(): void {
    this.disposables.dispose();
  }

  /** Close what is open. */
  async close(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const ours = ({ input }: vscode.Tab) =>
      input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME;
    await vscode.window.tabGroups.close(tabs.filter(ours));
  }

  /** Open both beside each other, with the first line that differs in sight. */
  async show(texts: RunTexts, preserveFocus = false): Promise<void> {
    this.texts = texts;
    const [failing, passing] = sides(texts);
    this.changed.fire(failing);
    this.changed.fire(passing);
    const selection = new vscode.Range(texts.line, 0, texts.line, 0);
    // as a preview it would take the place of the file at which the user looks, which closing it closes
    const shown = { ...besidePanels(), selection, preserveFocus, preview: false };
    await vscode.commands.executeCommand('vscode.diff', failing, passing, texts.heading, shown);
  }
}

/** The documents of a failing and a passing run. They end in `.py`, so that they are coloured. */
export function sides({ failing, passing }: RunTexts): [vscode.Uri, vscode.Uri] {
  const uri = (authority: string, title: string) =>
    vscode.Uri.from({ scheme: SCHEME, authority, path: `/${title.replaceAll('/', '-')}.py` });
  return [uri(TITLES.failing, failing.title), uri(TITLES.passing, passing.title)];
}
