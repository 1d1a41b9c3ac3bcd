/** The panels beside the code: why a test fails, why not a line, and what would tell the lines of a tie apart. */

import * as vscode from 'vscode';

import { answer } from './answerPage';
import type { Server } from '../client';
import { t } from '../l10n';
import { open } from '../locations';
import { Panel } from './panel';
import { type Answer, serverCommands } from '../protocol';

export class Answers implements vscode.Disposable {
  private readonly disposables: vscode.Disposable;

  constructor(server: Server) {
    const { whyNot, tellApart, why } = serverCommands;
    this.disposables = vscode.Disposable.from(
      new AnswerPanel(server, 'suspectra.answer', t('What Tells Suspects Apart'), [whyNot, tellApart]),
      new AnswerPanel(server, 'suspectra.why', t('Why It Fails'), [why]),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }
}

/** A panel that shows the last answer of some commands, and before it what is known so far. */
class AnswerPanel implements vscode.Disposable {
  private readonly panel: Panel;
  private readonly disposables: vscode.Disposable;
  private last: Answer | undefined;
  private searching = false; // whether what is shown is not the whole answer yet

  constructor(
    private readonly server: Server,
    id: string,
    title: string,
    private readonly commands: string[],
  ) {
    this.panel = new Panel(id, title, '', (action) => this.act(action));
    this.disposables = vscode.Disposable.from(
      this.panel,
      server.onDidExecute(({ command, result }) => {
        if (this.commands.includes(command) && result) {
          this.searching = false;
          this.last = result as Answer;
          this.panel.show(answer(this.last));
        }
      }),
      server.onDidFindOut(({ command, answer: known, doing }) => {
        if (this.commands.includes(command)) {
          this.showSoFar(known, doing);
        }
      }),
      server.onDidChange((condition) => {
        if (this.searching && !('investigation' in condition && condition.investigation)) {
          this.searching = false; // also if it was cancelled, or the server has stopped
          if (this.last) {
            this.panel.update(answer(this.last));
          }
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  /** The panel opens with the first news; if the user closes it meanwhile, it stays closed until the answer is there. */
  private showSoFar(known: Answer, doing: string): void {
    const content = answer(known, doing);
    if (this.searching) {
      this.panel.update(content);
    } else {
      this.panel.show(content);
    }
    this.searching = true;
    this.last = known;
  }

  private act(action: string): void {
    const there = action === 'undo' ? this.last?.change : this.last?.location;
    if (action === 'fix') {
      void apply(this.server, this.last);
    } else if (there && action === 'undo') {
      void this.server.command(serverCommands.undoChange, there.uri, there.range.start.line);
    } else if (there) {
      void open(there.uri, there.range.start.line, there.range.start.character);
    }
  }
}

/** Show the change that an answer ends with, and make it if the user agrees. */
async function apply(server: Server, shown: Answer | undefined): Promise<void> {
  if (shown?.fix) {
    await vscode.commands.executeCommand('suspectra.applyChange', t('Change'), await server.edit(shown.fix));
  }
}
