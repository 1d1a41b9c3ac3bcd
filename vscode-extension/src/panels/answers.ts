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
      shown(server, 'suspectra.answer', t('What Tells Suspects Apart'), [whyNot, tellApart]),
      shown(server, 'suspectra.why', t('Why It Fails'), [why]),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }
}

/** A panel that shows the last answer of some commands. */
function shown(server: Server, id: string, title: string, commands: string[]): vscode.Disposable {
  let last: Answer | undefined;
  const panel = new Panel(id, title, '', (action) => {
    const there = action === 'undo' ? last?.change : last?.location;
    if (action === 'fix') {
      void apply(server, last);
    } else if (there && action === 'undo') {
      void server.command(serverCommands.undoChange, there.uri, there.range.start.line);
    } else if (there) {
      void open(there.uri, there.range.start.line, there.range.start.character);
    }
  });
  const executed = server.onDidExecute(({ command, result }) => {
    if (commands.includes(command) && result) {
      last = result as Answer;
      panel.show(answer(last));
    }
  });
  return vscode.Disposable.from(panel, executed);
}

/** Show the change that an answer ends with, and make it if the user agrees. */
async function apply(server: Server, shown: Answer | undefined): Promise<void> {
  if (shown?.fix) {
    await vscode.commands.executeCommand('suspectra.applyChange', t('Change'), await server.edit(shown.fix));
  }
}
