/** The status bar item: what Suspectra is doing, one click from the suspects. */

import * as vscode from 'vscode';

import { type Condition, statusWords } from './words';

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('status', vscode.StatusBarAlignment.Left, 0);

  constructor() {
    this.item.name = 'Suspectra';
    this.item.show();
  }

  show(condition: Condition): void {
    const { text, tooltip, label, warning } = statusWords(condition);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = { label };
    this.item.backgroundColor = warning ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.command = warning || condition.state === 'installing' ? 'suspectra.ui.showOutput' : 'suspectra.suspects.focus';
  }

  dispose(): void {
    this.item.dispose();
  }
}
