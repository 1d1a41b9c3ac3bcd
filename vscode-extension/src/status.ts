/** The status bar item: what Suspectra is doing. A click opens a menu of what the user can do. */

import * as vscode from 'vscode';

import { t } from './l10n';
import type { Model } from './model';
import { type Condition, placeOf, statusText } from './messages';

interface Action extends vscode.QuickPickItem {
  command: string;
}

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('status', vscode.StatusBarAlignment.Left, 0);
  private readonly listener: vscode.Disposable;

  constructor(private readonly model: Model) {
    this.item.name = 'Suspectra';
    this.item.command = 'suspectra.menu';
    this.listener = vscode.Disposable.from(
      model.onDidChange(() => this.show()),
      model.onDidProgress(() => this.show()),
    );
    this.show();
    this.item.show();
  }

  /** Offer what makes sense now. */
  async menu(): Promise<void> {
    const { condition } = this.model;
    const picked = await vscode.window.showQuickPick(
      actions(condition, this.model.suspects.length > 0, vscode.workspace.isTrusted),
      { title: 'Suspectra', placeHolder: statusText(condition).tooltip },
    );
    if (picked) {
      await vscode.commands.executeCommand(picked.command);
    }
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private show(): void {
    const first = this.model.suspects.find(({ examined }) => !examined);
    const { text, tooltip, label, warning } = statusText(this.model.condition, first && placeOf(first));
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = { label, role: 'button' };
    this.item.backgroundColor = warning ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  }
}

function actions(condition: Condition, suspects: boolean, trusted: boolean): Action[] {
  const action = (icon: string, label: string, command: string): Action => ({
    label,
    iconPath: new vscode.ThemeIcon(icon), // a screen reader would read its name in the label
    command,
  });
  const output = action('output', t('Show Output'), 'suspectra.showOutput');
  const restart = action('debug-restart', t('Restart Server'), 'suspectra.restart');
  switch (condition.state) {
    case 'starting':
      return [output];
    case 'noFolder':
      return [action('folder-opened', t('Open a Folder'), 'vscode.openFolder'), output];
    case 'installing':
      return [
        output,
        action('stop-circle', t('Cancel the Installation of the Server'), 'suspectra.cancelInstallation'),
      ];
    case 'noServer':
      return [output, restart];
    case 'runningTests':
      return [action('stop-circle', t('Cancel Test Run'), 'suspectra.cancelTests'), output];
  }
  return [
    ...(suspects
      ? [
          action('arrow-down', t('Next Suspect'), 'suspectra.nextSuspect'),
          action('list-ordered', t('Show the Suspects'), 'suspectra.suspects.focus'),
          action('beaker', t('Select Technique…'), 'suspectra.selectTechnique'),
        ]
      : []),
    ...('investigation' in condition && condition.investigation
      ? [action('stop-circle', t('Cancel Altered Runs'), 'suspectra.cancelInvestigation')]
      : suspects && trusted && condition.state !== 'stale' // tests must be run again first
        ? [
            ...(condition.onlyRead
              ? []
              : [
                  action('question', t('Why Does It Fail?'), 'suspectra.why'),
                  action('lightbulb-sparkle', t('Find Out What Would Make It Pass'), 'suspectra.investigate'),
                ]),
          ]
        : []),
    trusted
      ? action('run-all', t('Run Tests and Localize'), 'suspectra.runTests')
      : action('shield', t('Manage Workspace Trust'), 'workbench.trust.manage'),
    action('refresh', t('Localize Fault'), 'suspectra.localize'),
    output,
    restart,
  ];
}
