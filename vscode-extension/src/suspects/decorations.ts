/** Suspicious lines in the editor: marks in the gutter and the ruler, what was found, and why at the cursor's line. */

import * as vscode from 'vscode';

import { type Heat, HEATS } from './heat';
import { cursorText } from '../messages';
import type { Model } from '../model';
import { picture } from './pictures';
import type { Suspect } from '../listed';

export class Decorations implements vscode.Disposable {
  private readonly marks = decorationTypes(mark);
  private readonly tints = decorationTypes(tint);
  private readonly found = vscode.window.createTextEditorDecorationType(atTheEnd('suspectra.finding'));
  private readonly reason = vscode.window.createTextEditorDecorationType(atTheEnd('suspectra.reason'));
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
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.sayWhy(textEditor)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (['decorations', 'tint'].some((name) => event.affectsConfiguration(`suspectra.${name}`))) {
          all();
        }
      }),
    );
  }

  dispose(): void {
    this.listeners.dispose();
    for (const type of [...this.marks.values(), ...this.tints.values(), this.found, this.reason]) {
      type.dispose();
    }
  }

  /** Between two reports the editor itself moves the marks with the text. */
  private decorate(editor: vscode.TextEditor): void {
    const shown = this.shown(editor);
    const tinted = wants(editor, 'tint', false) ? shown : [];
    for (const [types, suspects] of [
      [this.marks, shown],
      [this.tints, tinted],
    ] as const) {
      for (const [heat, type] of types) {
        const hot = suspects.filter((suspect) => this.model.heatOf(suspect) === heat);
        editor.setDecorations(
          type,
          hot.map(({ line, endLine }) => new vscode.Range(line - 1, 0, endLine - 1, 0)),
        );
      }
    }
    editor.setDecorations(
      this.found,
      shown.flatMap(({ line, findings: [sentence] }) => (sentence ? after(editor, line - 1, sentence) : [])),
    );
    this.sayWhy(editor);
  }

  /** At the end of the cursor's line, unless what was found there says more. */
  private sayWhy(editor: vscode.TextEditor): void {
    const line = editor.selection.active.line;
    const suspect = this.shown(editor).find((one) => one.line - 1 <= line && line < one.endLine);
    editor.setDecorations(
      this.reason,
      suspect && !suspect.findings.length ? after(editor, line, cursorText(suspect)) : [],
    );
  }

  private shown(editor: vscode.TextEditor): Suspect[] {
    const uri = editor.document.uri.toString();
    const wanted = wants(editor, 'decorations', true);
    return wanted ? this.model.suspects.filter((suspect) => suspect.uri === uri && !suspect.examined) : [];
  }
}

function wants(editor: vscode.TextEditor, setting: string, otherwise: boolean): boolean {
  return vscode.workspace.getConfiguration('suspectra', editor.document.uri).get<boolean>(setting, otherwise);
}

function after(editor: vscode.TextEditor, line: number, contentText: string): vscode.DecorationOptions[] {
  return line < editor.document.lineCount
    ? [{ range: editor.document.lineAt(line).range, renderOptions: { after: { contentText } } }]
    : [];
}

function decorationTypes(
  look: (heat: Heat) => vscode.DecorationRenderOptions,
): Map<Heat, vscode.TextEditorDecorationType> {
  return new Map(HEATS.map((heat) => [heat, vscode.window.createTextEditorDecorationType(look(heat))]));
}

function mark(heat: Heat): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    overviewRulerColor: new vscode.ThemeColor(`suspectra.heat${heat}`),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
    dark: { gutterIconPath: picture(heat, 'dark'), gutterIconSize: 'contain' },
    light: { gutterIconPath: picture(heat, 'light'), gutterIconSize: 'contain' },
  };
}

function tint(heat: Heat): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    backgroundColor: new vscode.ThemeColor(`suspectra.heat${heat}Background`),
  };
}

function atTheEnd(color: string): vscode.DecorationRenderOptions {
  return {
    after: { color: new vscode.ThemeColor(color), margin: '0 1em 0 2em', fontStyle: 'italic' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  };
}
