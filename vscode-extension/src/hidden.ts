/** What a view says while it is hidden: a notification that opens it. */

import * as vscode from 'vscode';

import { t } from './l10n';

/** Say what a view shows, unless it is in sight. */
export async function sayIfHidden(view: Pick<vscode.TreeView<unknown>, 'visible'>, id: string, text: string) {
  const show = t('Show');
  if (!view.visible && (await vscode.window.showInformationMessage(`Suspectra: ${text}`, show)) === show) {
    await vscode.commands.executeCommand(`${id}.focus`);
  }
}
