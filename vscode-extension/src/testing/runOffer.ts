/** Offers, after a failing run and until the user has answered, that tests run by themselves after a save. */

import * as vscode from 'vscode';

import { t } from '../l10n';
import type { Model } from '../model';

const OFFERED = 'suspectra.runOffered';
const SETTING = 'run';

/** What the row of the offer executes. */
export const ANSWER_RUN_OFFER = 'suspectra.answerRunOffer';

export class RunOffer implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable;
  private ran = false;

  /** Fires when the offer comes or goes. */
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly model: Model,
    private readonly memory: vscode.Memento,
  ) {
    this.disposables = vscode.Disposable.from(
      this.changed,
      model.onDidChange(() => this.check()),
      vscode.commands.registerCommand(ANSWER_RUN_OFFER, () => this.ask()),
    );
  }

  /** Whether the user has not answered yet. A notification would hide before it is read, a dialogue would interrupt. */
  get open(): boolean {
    return this.memory.get(OFFERED) === 'open' && !isChosen();
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private check(): void {
    const { condition } = this.model;
    if (condition.state === 'runningTests') {
      this.ran ||= condition.progress?.onSave === false;
    } else if (condition.state === 'ready' && this.ran) {
      this.ran = false;
      // compiled programs run only when they are told to
      if (condition.failed && !condition.compiled && !this.memory.get(OFFERED) && !isChosen()) {
        void this.remember('open');
      }
    }
  }

  private async ask(): Promise<void> {
    const [onSave, onIdle, no] = [t('On Save'), t('When I Stop Typing'), t('No')];
    const picked = await vscode.window.showQuickPick([{ label: onSave }, { label: onIdle }, { label: no }], {
      title: t('Rerun failing and affected tests automatically?'),
    });
    if (!picked) {
      return;
    }
    if (picked.label !== no) {
      await vscode.workspace
        .getConfiguration('suspectra')
        .update(SETTING, picked.label === onSave ? 'onSave' : 'onIdle', vscode.ConfigurationTarget.Global);
    }
    await this.remember('answered');
  }

  private async remember(state: 'open' | 'answered'): Promise<void> {
    await this.memory.update(OFFERED, state);
    this.changed.fire();
  }
}

/** Whether the user has said when tests run; a workspace can't. */
function isChosen(): boolean {
  return vscode.workspace.getConfiguration('suspectra').inspect(SETTING)?.globalValue !== undefined;
}
