/** Places in documents: where the reader is, where a command is about, and going there. */

import * as vscode from 'vscode';

import { t } from './l10n';
import type { Suspect } from './protocol';

export interface Cursor {
  uri: string;
  position: { line: number; character: number };
}

/** Where the reader is. */
export function cursor(): Cursor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString(), position: editor.selection.active };
}

/** The place a command is about, as (uri, line): the row it was given on, else the line with the cursor. */
export function placeOf(suspect: Suspect | undefined): [string, number] {
  if (suspect) {
    return [suspect.uri, suspect.range.start.line];
  }
  const here = cursor();
  if (!here) {
    throw new Error(t('Put the cursor on a suspect first.'));
  }
  return [here.uri, here.position.line];
}

/** Open a document at a line, counted from 0; from a panel, in the column that has the code. */
export async function open(uri: string, line: number, character = 0): Promise<void> {
  const code = vscode.window.visibleTextEditors.find((editor) => editor.viewColumn !== undefined);
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), {
    ...(code?.viewColumn === undefined ? {} : { viewColumn: code.viewColumn }),
    selection: new vscode.Range(line, character, line, character),
  });
}
