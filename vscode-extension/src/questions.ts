/** Questions of the server to the user. */

import * as vscode from 'vscode';
import type { MessageActionItem, ShowMessageRequestParams } from 'vscode-languageclient';

const [ERROR, WARNING] = [1, 2]; // of the protocol

/** Ask the user. What may do harm is asked in a dialogue, since a notification hides after a while. */
export async function askUser({
  type,
  message,
  actions = [],
}: ShowMessageRequestParams): Promise<MessageActionItem | null> {
  if (type !== WARNING) {
    const show = type === ERROR ? vscode.window.showErrorMessage : vscode.window.showInformationMessage;
    return (await show(message, ...actions)) ?? null;
  }
  const [head = message, ...rest] = message.split(/(?<=[.]) (?=[A-Z])/);
  const offered = actions.filter(({ title }) => title !== 'Cancel'); // a dialogue has its own
  return (await vscode.window.showWarningMessage(head, { modal: true, detail: rest.join(' ') }, ...offered)) ?? null;
}
