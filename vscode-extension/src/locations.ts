/** Locations in documents: the cursor, the target of a command, and opening a location. */

import * as vscode from 'vscode';
import type { Location } from 'vscode-languageclient';

import { t } from './l10n';
import type { Suspect } from './listed';
import { type Jump, serverCommands } from './protocol';

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

/** The column that has the code, as options to open something: a panel beside it may have the focus. */
export function besidePanels(): { viewColumn?: vscode.ViewColumn } {
  const code = vscode.window.visibleTextEditors.find((editor) => editor.viewColumn !== undefined);
  return code?.viewColumn === undefined ? {} : { viewColumn: code.viewColumn };
}

/** Open a document at a line, counted from 0; from a panel, in the column that has the code. */
export async function open(uri: string, line: number, character = 0): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), {
    ...besidePanels(),
    selection: new vscode.Range(line, character, line, character),
  });
}

const STEPS: ReadonlySet<string> = new Set([
  serverCommands.nextSuspect,
  serverCommands.previousSuspect,
  serverCommands.firstSuspect,
  serverCommands.back,
]);

/** The location that a command led the reader to, if any. */
export function destination({ command, result }: { command: string; result: unknown }): Location | undefined {
  if (command === serverCommands.jump) {
    return (result as Jump | null)?.chosen ?? undefined;
  }
  return STEPS.has(command) ? ((result as Location | null) ?? undefined) : undefined;
}
