/** Suspicious lines in the editor: a tint, a gutter mark, a heat map in the overview ruler, and what was found. */

import * as vscode from 'vscode';

import { type Heat, HEATS } from './heat';
import type { Model } from './model';
import { picture } from './pictures';

export class Decorations implements vscode.Disposable {
  private readonly types = new Map<Heat, vscode.TextEditorDecorationType>(
    HEATS.map((heat) => [heat, vscode.window.createTextEditorDecorationType(look(heat))]),
  );
  private readonly found = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('suspectra.finding'), margin: '0 0 0 2em', fontStyle: 'italic' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly listeners: vscode.Disposable;

  constructor(private readonly model: Model) {
    const all = () => {
      for (const editor of vscode.window.visibleTextEditors) {
        this.decorate(editor);
      }
    };
    this.listeners = vscode.Disposable.from(
      model.onDidChange(all),
      vscode.window.onDidChangeVisibleTextEditors(all),
      vscode.workspace.onDidChangeConfiguration(
        (event) => event.affectsConfiguration('suspectra.decorations') && all(),
      ),
    );
  }

  dispose(): void {
    this.listeners.dispose();
    for (const type of [...this.types.values(), this.found]) {
      type.dispose();
    }
  }

  /** Between two reports the editor itself moves the marks with the text. */
  private decorate(editor: vscode.TextEditor): void {
    const uri = editor.document.uri.toString();
    const wanted = vscode.workspace
      .getConfiguration('suspectra', editor.document.uri)
      .get<boolean>('decorations', true);
    const shown = wanted ? this.model.suspects.filter((suspect) => suspect.uri === uri && !suspect.examined) : [];
    for (const [heat, type] of this.types) {
      const hot = shown.filter((suspect) => this.model.heatOf(suspect) === heat);
      editor.setDecorations(
        type,
        hot.map(({ line, endLine }) => new vscode.Range(line - 1, 0, endLine - 1, 0)),
      );
    }
    editor.setDecorations(
      this.found,
      shown.flatMap(({ line, findings: [sentence] }) => {
        const text = sentence && line <= editor.document.lineCount && editor.document.lineAt(line - 1);
        return text ? [{ range: text.range, renderOptions: { after: { contentText: sentence } } }] : [];
      }),
    );
  }
}

function look(heat: Heat): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    backgroundColor: new vscode.ThemeColor(`suspectra.heat${heat}Background`),
    overviewRulerColor: new vscode.ThemeColor(`suspectra.heat${heat}`),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
    dark: { gutterIconPath: picture(heat, 'dark'), gutterIconSize: 'contain' },
    light: { gutterIconPath: picture(heat, 'light'), gutterIconSize: 'contain' },
  };
}
