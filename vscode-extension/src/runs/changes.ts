/** Changes of files, each shown as a difference before the user is asked for it. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { open } from '../locations';
import { type FoundChange, serverCommands } from '../protocol';
import type { Runs } from './runs';

/** A change that may be made. */
export interface Change {
  /** In a word or as code. */
  title: string;
  place?: string;
  /** What is known of it; by default what it changes. */
  said?: string;
  edit: vscode.WorkspaceEdit;
  /** Whether the others are offered again after it. */
  again?: boolean;
}

/** A change in the list, with the texts in which it was found. */
type Choice = vscode.QuickPickItem & { change?: Change; before?: string };

export class Changes implements vscode.Disposable {
  private readonly disposables: vscode.Disposable;

  constructor(
    private readonly server: Server,
    private readonly runs: Runs,
  ) {
    const one = (title: string, edit: vscode.WorkspaceEdit) => this.choose(title, [{ title, edit }]);
    server.confirm = async (title, edit) => (await one(title, edit)) !== undefined;
    this.disposables = vscode.Disposable.from(
      vscode.commands.registerCommand('suspectra.applyChange', one),
      server.onDidExecute(({ command, result }) => {
        if (command === serverCommands.findFix) {
          void this.offer(result as FoundChange[]);
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  /** Let the user choose one of the changes that were found, before or after writing tests that tell them apart. */
  private async offer(found: FoundChange[]): Promise<void> {
    const changes: Change[] = [];
    for (const { title, place, said: end, apart, edit, test } of found) {
      const said = end.charAt(0).toUpperCase() + end.slice(1); // here it stands alone
      changes.push({ title, place, said: test ? said : `${said} ${apart}`, edit: await this.server.edit(edit) });
      if (test) {
        changes.push({ title: t('Write a Test'), said: apart, edit: await this.server.edit(test), again: true });
      }
    }
    const question = found.length === 1 ? t('1 change was found') : t('{0} changes were found', found.length);
    for (let left = changes; left.length;) {
      const made = await this.choose(question, left);
      left = made?.again ? left.filter((one) => one !== made) : [];
    }
  }

  /** Let the user choose one of some changes, and make it; undefined if nothing was changed. */
  private async choose(question: string, changes: Change[]): Promise<Change | undefined> {
    const chosen = await this.ask(question, await Promise.all(changes.map(choiceOf)));
    await this.runs.close();
    if (!chosen?.change) {
      return undefined;
    }
    if ((await choiceOf(chosen.change)).before !== chosen.before) {
      void vscode.window.showWarningMessage(t('The file was edited meanwhile, so nothing was changed.'));
      return undefined;
    }
    return (await made(chosen.change)) ? chosen.change : undefined;
  }

  /** Ask, with the difference of the change at which the user looks in the editor. */
  private ask(question: string, choices: Choice[]): Promise<Choice | undefined> {
    const pick = vscode.window.createQuickPick<Choice>();
    pick.title = question;
    pick.ignoreFocusOut = true; // else it would close as soon as the difference opens
    pick.items = [...choices, { label: t('Change Nothing') }];
    return new Promise((done) => {
      const listeners = vscode.Disposable.from(
        pick.onDidChangeActive(([at]) => at?.change && void this.show(at.change)),
        pick.onDidAccept(() => {
          done(pick.selectedItems[0]);
          pick.hide();
        }),
        pick.onDidHide(() => {
          listeners.dispose();
          pick.dispose();
          done(undefined);
        }),
      );
      pick.show();
    });
  }

  /** Open the files of a change as they are, and as they would be. */
  private async show({ title, edit }: Change): Promise<void> {
    const files = await Promise.all(
      edit.entries().map(async ([uri, edits]) => ({ uri, ...(await textsOf(uri, edits)) })),
    );
    const texts = files.map(({ before }) => before);
    const changed = files.map(({ after }) => after);
    const [first] = files;
    if (first) {
      const name = first.uri.path.replace(/.*\//, '');
      const shown = {
        heading: `${name}: ${title}`,
        failing: { title: `${name} (${t('now')})`, text: texts.join('\n') },
        passing: { title: `${name} (${t('changed')})`, text: changed.join('\n') },
        line: firstDifference(first.before, first.after),
      };
      await this.runs.show(shown, true); // the question keeps the focus
    }
  }
}

/** A change as it is listed; what it changes is said if nothing else is known, as the list may lie above the difference. */
async function choiceOf(change: Change): Promise<Choice> {
  const texts = await Promise.all(change.edit.entries().map((file) => textsOf(...file)));
  const [before, after] = [texts.map((one) => one.before).join('\n'), texts.map((one) => one.after).join('\n')];
  const line = firstDifference(before, after);
  const [was = '', is = ''] = [before, after].map((text) => text.split('\n')[line]?.trim());
  const { title: label, place: description = '', said: detail = `${was} → ${is}` } = change;
  return { label, description, detail, change, before };
}

/** A file without and with edits; empty before where there is none. */
async function textsOf(uri: vscode.Uri, edits: vscode.TextEdit[]): Promise<{ before: string; after: string }> {
  const document = await opened(uri);
  const before = document?.getText() ?? '';
  const offset = (position: vscode.Position) => document?.offsetAt(position) ?? 0;
  const after = edits
    .toSorted((a, b) => b.range.start.compareTo(a.range.start))
    .reduce(
      (text, { range, newText }) => text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end)),
      before,
    );
  return { before, after };
}

async function opened(uri: vscode.Uri): Promise<vscode.TextDocument | undefined> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    return undefined; // a file that the change makes
  }
}

/** Make a change that the user has seen, and open it where it begins. */
async function made({ edit }: Change): Promise<boolean> {
  const [files, agreed] = [edit.entries(), new vscode.WorkspaceEdit()]; // the edit would let VS Code ask again
  for (const [uri, edits] of files) {
    if (!(await opened(uri))) {
      agreed.createFile(uri);
    }
    agreed.set(uri, edits);
  }
  const done = await vscode.workspace.applyEdit(agreed);
  const [uri, edits] = files[0] ?? [];
  const start = edits?.[0]?.range.start;
  if (done && uri && start) {
    await open(uri.toString(), start.line, start.character);
  }
  return done;
}

/** The first line that is not the same in two texts. */
function firstDifference(one: string, other: string): number {
  const [lines, others] = [one.split('\n'), other.split('\n')];
  const found = lines.findIndex((line, at) => line !== others[at]);
  return found < 0 ? lines.length : found;
}
