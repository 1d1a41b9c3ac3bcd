/** The panel beside the code that says why not a line, and what would tell the lines of a tie apart. */

import * as vscode from 'vscode';

import { answer } from './answerPage';
import type { Server } from '../client';
import { t } from '../l10n';
import { open } from '../locations';
import { Panel } from './panel';
import { type Answer, serverCommands } from '../protocol';

export class Answers implements vscode.Disposable {
  private readonly panel = new Panel('suspectra.answer', t('What Tells Suspects Apart'), '', () => this.goThere());
  private readonly disposables: vscode.Disposable;
  private last: Answer | undefined;

  constructor(server: Server) {
    this.disposables = vscode.Disposable.from(
      this.panel,
      server.onDidExecute(({ command, result }) => {
        if ((command === serverCommands.whyNot || command === serverCommands.tellApart) && result) {
          this.last = result as Answer;
          this.panel.show(answer(this.last));
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private goThere(): void {
    const there = this.last?.location;
    if (there) {
      void open(there.uri, there.range.start.line, there.range.start.character);
    }
  }
}
