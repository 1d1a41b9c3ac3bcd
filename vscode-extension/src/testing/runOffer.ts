/** Offers, once after a failing run, that tests run by themselves after a save. */

import * as vscode from 'vscode';

import { t } from '../l10n';
import type { Model } from '../model';

const OFFERED = 'suspectra.runOffered';
const SETTING = 'run';

export class RunOffer implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private ran = false;

  constructor(
    private readonly model: Model,
    private readonly memory: vscode.Memento,
  ) {
    this.listener = model.onDidChange(() => this.check());
  }

  dispose(): void {
    this.listener.dispose();
  }

  private check(): void {
    const { condition } = this.model;
    if (condition.state === 'runningTests') {
      this.ran ||= condition.progress?.onSave === false;
    } else if (condition.state === 'ready' && this.ran) {
      this.ran = false;
      // compiled programs run only when they are told to
      if (condition.failed && !condition.compiled && !this.memory.get(OFFERED) && !isChosen()) {
        void this.offer();
      }
    }
  }

  private async offer(): Promise<void> {
    void this.memory.update(OFFERED, true);
    const [onSave, onIdle] = [t('On Save'), t('When I Stop Typing')];
    const picked = await vscode.window.showInformationMessage(
      t('Rerun failing and affected tests automatically?'),
      onSave,
      onIdle,
      t('No'),
    );
    if (picked === onSave || picked === onIdle) {
      await vscode.workspace
        .getConfiguration('suspectra')
        .update(SETTING, picked === onSave ? 'onSave' : 'onIdle', vscode.ConfigurationTarget.Global);
    }
  }
}

/** Whether the user has said when tests run; a workspace can't. */
function isChosen(): boolean {
  return vscode.workspace.getConfiguration('suspectra').inspect(SETTING)?.globalValue !== undefined;
}
