/** Locations in documents: the cursor, the target of a command, and opening a location. */

import * as vscode from 'vscode';

import { t } from './l10n';
import type { Suspect } from './protocol';

export interface Cursor {
  uri: string;
  position: { line: number; character: number };
}

/** The cursor in the active editor. */
export function cursor(): Cursor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString(), position: editor.selection.active };
}

/** The target of a command as (uri, line): the suspect of its row, or else the line with the cursor. */
export function locationOf(suspect: Suspect | undefined): [string, number] {
  if (suspect) {
    return [suspect.uri, suspect.range.start.line];
  }
  const current = cursor();
  if (!current) {
    throw new Error(t('Put the cursor on a suspect first.'));
  }
  return [current.uri, current.position.line];
}

/** Open a document at a line, counted from 0; from a panel, in the column that has the code. */
export async function open(uri: string, line: number, character = 0): Promise<void> {
  const code = vscode.window.visibleTextEditors.find((editor) => editor.viewColumn !== undefined);
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), {
    ...(code?.viewColumn === undefined ? {} : { viewColumn: code.viewColumn }),
    selection: new vscode.Range(line, character, line, character),
  });
}
