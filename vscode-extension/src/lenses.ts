/** The lenses of the server, as VS Code shows them. */

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
