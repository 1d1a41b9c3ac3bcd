/** The lenses and the code actions of the server, as VS Code shows them. */

import type * as vscode from 'vscode';

import { t } from './l10n';
import { serverCommands } from './protocol';

/** The first lens of a failing test opens the list of all experiments. */
export function withMenu(lens: vscode.CodeLens): vscode.CodeLens {
  const { command } = lens;
  if (command?.command === serverCommands.why && command.title !== 'Why?') {
    lens.command = { ...command, title: `${t('Why Does It Fail?')} ▾`, command: 'suspectra.experiments' };
  } else if (command?.command === serverCommands.why) {
    lens.command = { ...command, title: t('Why?') };
  }
  return lens;
}

/** What takes back a change shows the difference before it asks: a preview would be a list with empty boxes. */
export function withDifference<Action extends vscode.CodeAction | vscode.Command>(action: Action): Action {
  const undo = 'data' in action && (action.data as { undo?: [string, number] } | undefined)?.undo;
  if (undo && 'edit' in action) {
    const [uri, line] = undo;
    delete action.edit;
    action.command = { title: action.title, command: 'suspectra.undoChange', arguments: [{ uri, line }] };
  }
  return action;
}
