/** The panel beside the code that explains a suspect. It follows the ranking and edits. */

import * as vscode from 'vscode';
import type { Location } from 'vscode-languageclient';

import type { Server } from '../client';
import {
  type Action,
  ACTIONS,
  explanation,
  noLongerSuspect,
  nothingFails,
  STYLE,
  serverNotRunning,
} from './explanationPage';
import { t } from '../l10n';
import { moved } from '../suspects/lines';
import type { Model } from '../model';
import type { Html } from './html';
import { Panel } from './panel';
import { destination, open } from '../locations';
import { type Explained, methods, type ExplanationMessage, serverCommands, type Test } from '../protocol';
import { locationText } from '../messages';

export class Explanations implements vscode.Disposable {
  private readonly panel = new Panel('suspectra.explanation', t('Explain Suspect'), STYLE, (action) =>
    this.handle(action),
  );
  private readonly disposables: vscode.Disposable;
  private at: { uri: string; line: number } | undefined;
  private reasons: ExplanationMessage | undefined;
  private requests = 0;

  /** Shows each answer to `suspectra.server.explain`. While the panel is open, it follows the steps of the reader. */
  constructor(
    private readonly server: Server,
    private readonly model: Model,
  ) {
    this.disposables = vscode.Disposable.from(
      this.panel,
      server.onDidExecute((done) => {
        const target = destination(done);
        if (done.command === serverCommands.explain && done.result) {
          void this.show((done.result as Explained).location, true);
        } else if (target && this.panel.open) {
          void this.show(target, false);
        }
      }),
      model.onDidChange(() => this.panel.open && void this.refresh()),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (this.at?.uri === document.uri.toString()) {
          this.at.line = moved(this.at.line, contentChanges);
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async show({ uri, range }: Location, reveal: boolean): Promise<void> {
    this.at = { uri: vscode.Uri.parse(uri).toString(), line: range.start.line };
    await this.refresh(reveal);
  }

  private async refresh(reveal = false): Promise<void> {
    if (!this.at) {
      return;
    }
    const { at } = this;
    const request = ++this.requests;
    const reasons = await this.server
      .request<ExplanationMessage | null>(methods.explanation, { uri: at.uri, line: at.line })
      .catch(() => undefined); // no server: the status item says so
    if (request !== this.requests) {
      return;
    }
    const location = this.reasons ? locationText(this.reasons.location) : t('This line');
    this.reasons = reasons ?? this.reasons;
    const content = reasons ? explanation(reasons) : this.without(location);
    if (reveal) {
      this.panel.show(content);
    } else {
      this.panel.update(content);
    }
  }

  /** What there is to say about a line that has no explanation. */
  private without(location: string): Html {
    const { condition } = this.model;
    if (!('technique' in condition)) {
      return serverNotRunning(location);
    }
    return condition.state === 'noFailingTests' ? nothingFails(location) : noLongerSuspect(location);
  }

  private handle(message: string): void {
    const { at, reasons } = this;
    const [kind, index] = message.split(' ');
    if (ACTIONS.includes(message as Action)) {
      void this.act(message as Action);
    } else if (kind === 'location' && at) {
      void open(at.uri, at.line);
    } else if (reasons && (kind === 'failing' || kind === 'passing')) {
      const test: Test | undefined = reasons[kind][Number(index)];
      if (test?.uri && test.line) {
        void open(test.uri, test.line - 1);
      }
    }
  }

  private async act(action: Action): Promise<void> {
    const names = {
      debug: 'debugHere',
      why: 'why',
      fix: 'findFix',
      next: 'nextSuspect',
    } as const;
    await vscode.commands.executeCommand(`suspectra.${names[action]}`, this.at);
  }
}
