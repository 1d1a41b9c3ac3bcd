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

/** An action that changes a file shows the difference before it asks: VS Code's preview is a list with empty boxes. */
export function withDifference<Action extends vscode.CodeAction | vscode.Command>(action: Action): Action {
  const edit = 'edit' in action ? action.edit : undefined;
  if ('edit' in action && edit) {
    action.command = { title: action.title, command: 'suspectra.applyChange', arguments: [action.title, edit] };
    delete action.edit;
  }
  return action;
}
