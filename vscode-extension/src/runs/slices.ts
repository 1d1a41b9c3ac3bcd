/** What led to a line or what it influenced: a tree, the other code dimmed, and a picture. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { Html, html } from '../panels/html';
import { t } from '../l10n';
import { Panel } from '../panels/panel';
import { serverCommands, type SliceMessage } from '../protocol';
import { StepsView } from './stepsView';

const STYLE = `
body { max-width: none; }
.picture { overflow-x: auto; }
svg { height: auto; max-width: 100%; min-width: 40em;
  --slice-ink: var(--vscode-editor-foreground); --slice-soft: var(--vscode-descriptionForeground);
  --slice-paper: var(--vscode-editor-background); --slice-line: var(--vscode-editorIndentGuide-activeBackground1, currentColor);
  --slice-accent: var(--vscode-textLink-foreground); --slice-failure: var(--vscode-errorForeground); }
`;

export class Slices implements vscode.Disposable {
  private readonly view = new StepsView('suspectra.slice');
  private readonly panel = new Panel('suspectra.slicePicture', t('What Led Here'), STYLE, () => undefined);
  private readonly dimmed = vscode.window.createTextEditorDecorationType({ opacity: '0.4', isWholeLine: true });
  private readonly disposables: vscode.Disposable;
  private shown: SliceMessage | undefined;

  constructor(server: Server) {
    this.disposables = vscode.Disposable.from(
      this.view,
      this.panel,
      this.dimmed,
      server.onDidExecute(({ command, result }) => {
        if ((command === serverCommands.whatLedHere || command === serverCommands.whatThisInfluenced) && result) {
          this.show(result as SliceMessage);
        }
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.dim()),
      // numbers of lines are those of the text that was run: after an edit nothing is dimmed
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length && this.shown?.files.some(({ uri }) => uri === document.uri.toString())) {
          this.clear();
        }
      }),
    );
  }

  /** Show the picture of the slice. */
  showPicture(): void {
    if (this.shown) {
      this.panel.show(page(this.shown), this.shown.heading);
    }
  }

  /** Show all code again, and close the tree. */
  clear(): void {
    this.shown = undefined;
    this.view.show([], '', false);
    this.update();
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private show(slice: SliceMessage): void {
    this.shown = slice;
    this.view.show(slice.steps, [sizeText(slice), ...slice.leftOut].join(' — '), true);
    this.update();
    if (this.panel.open) {
      this.panel.update(page(slice), slice.heading);
    }
  }

  private update(): void {
    void vscode.commands.executeCommand('setContext', 'suspectra.hasSlice', this.shown !== undefined);
    this.dim();
  }

  private dim(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const file = this.shown?.files.find(({ uri }) => uri === editor.document.uri.toString());
      editor.setDecorations(this.dimmed, file ? outside(file.lines, editor.document.lineCount) : []);
    }
  }
}

/** The ranges of lines that are not among some, of a document with a number of lines. */
export function outside(lines: readonly number[], count: number): vscode.Range[] {
  const inside = new Set(lines);
  const found: vscode.Range[] = [];
  for (let line = 0, first = -1; line <= count; line++) {
    if (line < count && !inside.has(line)) {
      first = first < 0 ? line : first;
    } else if (first >= 0) {
      found.push(new vscode.Range(first, 0, line - 1, Number.MAX_SAFE_INTEGER));
      first = -1;
    }
  }
  return found;
}

/** What a slice is of, and how large it is. */
export function sizeText({ heading, size }: SliceMessage): string {
  return size === 1
    ? t('{0}: 1 value or decision', heading)
    : t('{0}: {1} values and decisions', heading, size.toLocaleString('en'));
}

/** The page with the picture. The server escapes it, and the panel runs no script from it. */
function page({ heading, svg }: SliceMessage): Html {
  return html`<h1>${heading}</h1><div class="picture">${new Html(svg)}</div>`;
}
