/** The commands of the palette, the view and the lenses. */

import * as vscode from 'vscode';

import type { Chains } from './chains';
import type { Server } from './client';
import type { Card } from './failureCards';
import { GROUPINGS } from './grouping';
import { jump } from './jumpPicker';
import { t } from './l10n';
import type { Model } from './model';
import { type Cursor, cursor, open, placeOf } from './places';
import { type Learned, methods, serverCommands, type Suspect } from './protocol';
import type { StatusItem } from './status';
import { suspectOf, type SuspectsView } from './suspectsView';
import { selectTechnique } from './techniquePicker';
import { learnedWords } from './words';

interface Parts {
  server: Server;
  model: Model;
  view: SuspectsView;
  status: StatusItem;
  chains: Chains;
}

type Run = (suspect: Suspect | undefined, argument: unknown) => unknown;

/** Register everything in the category “Suspectra”. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const { server, model, view, status, chains } = parts;
  const step =
    (command: string, ...from: (() => unknown)[]): Run =>
    async () => {
      if (!(await server.command(command, ...from.map((place) => place() ?? null)))) {
        say(command === serverCommands.back ? t('This is where you began') : t('There are no suspects to go to'));
      }
    };
  const about =
    (command: string): Run =>
    async (suspect, argument) => {
      const place: [string, number] = isPlace(argument) && !suspect ? [argument.uri, argument.line] : placeOf(suspect);
      if (!(await server.command(command, ...place))) {
        say(t('This line is not a suspect'));
      }
    };
  const commands: Record<string, Run> = {
    localize: () => server.command(serverCommands.localize),
    runTests: () => runTests(server),
    cancelTests: () => server.command(serverCommands.cancelTests),
    nextSuspect: step(serverCommands.nextSuspect, cursor),
    previousSuspect: step(serverCommands.previousSuspect, cursor),
    firstSuspect: step(serverCommands.firstSuspect),
    back: step(serverCommands.back),
    explain: about(serverCommands.explain),
    markExamined: about(serverCommands.markExamined),
    markInnocent: about(serverCommands.markInnocent),
    clearExamined: () => server.command(serverCommands.clearExamined),
    jump: async (suspect, argument) => {
      const from = suspect ? at(suspect.uri, suspect.range.start.line) : (fromArgument(argument) ?? cursor());
      const show = ({ origin }: { origin: { uri: string; line: number } }) =>
        void chains.show(origin.uri, origin.line - 1);
      if (!(await jump(server, from, show))) {
        say(t('There is nowhere to go from here'));
      }
    },
    showChain: async (suspect, argument) =>
      chains.show(...(isPlace(argument) && !suspect ? ([argument.uri, argument.line] as const) : placeOf(suspect))),
    showLearned: async () => {
      const learned = (await server.command(serverCommands.showLearned)) as Learned;
      await vscode.window.showInformationMessage(learnedWords(learned), {
        modal: true,
        detail: t('Kept on this machine in {0}', learned.file),
      });
    },
    resetLearned: async () => {
      const there = await server.command(serverCommands.resetLearned);
      say(there ? t('What was learned from your moves is forgotten') : t('Nothing was learned yet'));
    },
    selectTechnique: () => selectTechnique(server, model),
    open: async (suspect) => suspect && open(suspect.uri, suspect.range.start.line, suspect.range.start.character),
    filter: () => view.askForFilter(),
    clearFilter: () => view.setFilter(''),
    showExamined: () => view.showExamined(),
    menu: () => status.menu(),
    restart: () => server.restart(),
    cancelInstallation: () => server.cancelInstallation(),
    showOutput: () => server.output.show(),
    goToError: async (_, card) =>
      isCard(card) && card.place && open(card.place.uri, card.place.line, card.place.character),
    runAgain: async (_, card) =>
      isCard(card) && card.folder ? server.command(serverCommands.runTests, [card.folder]) : runTests(server),
    recordInTerminal: () => recordInTerminal(server),
    copyCommandLine: async () => {
      await vscode.env.clipboard.writeText((await commandLine(server)).line);
      say(t('The command line is in the clipboard'));
    },
  };
  for (const grouping of GROUPINGS) {
    commands[`groupBy.${grouping}`] = () => view.group(grouping);
  }
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`suspectra.ui.${name}`, (argument?: unknown) =>
        answering(() => run(suspectOf(argument), argument)),
      ),
    ),
  );
}

/** A command that fails answers the person who gave it. */
async function answering(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    void vscode.window.showErrorMessage(`Suspectra: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Record the tests of the folder; where there are several, of the one that is chosen. */
async function runTests(server: Server): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) {
    await server.command(serverCommands.runTests);
    return;
  }
  const here =
    vscode.window.activeTextEditor && vscode.workspace.getWorkspaceFolder(vscode.window.activeTextEditor.document.uri);
  const choice = (folder: vscode.WorkspaceFolder) => ({
    label: folder.name,
    description: folder.uri.fsPath,
    uris: [folder.uri.toString()],
  });
  const picked = await vscode.window.showQuickPick(
    [
      ...folders.toSorted((a, b) => Number(b === here) - Number(a === here)).map(choice),
      { label: t('All Folders'), description: '', uris: folders.map(({ uri }) => uri.toString()) },
    ],
    { title: t('Run Tests and Localize'), placeHolder: t('The folder whose tests to run') },
  );
  if (picked) {
    await server.command(serverCommands.runTests, picked.uris);
  }
}

/** Record in a terminal, where the reader sees the command line and can change it. */
async function recordInTerminal(server: Server): Promise<void> {
  const { line, folder } = await commandLine(server);
  const terminal = vscode.window.createTerminal({ name: 'Suspectra', ...(folder ? { cwd: folder.uri } : {}) });
  terminal.show();
  terminal.sendText(line);
}

/** What records the tests of the folder in use, or of the first one. */
async function commandLine(server: Server): Promise<{ line: string; folder: vscode.WorkspaceFolder | undefined }> {
  const editor = vscode.window.activeTextEditor;
  const folder =
    (editor && vscode.workspace.getWorkspaceFolder(editor.document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
  const answer = await server.request<{ commandLine: string } | null>(
    methods.commandLine,
    folder ? { folder: folder.uri.toString() } : {},
  );
  if (!answer) {
    throw new Error(t('No folder is open.'));
  }
  return { line: answer.commandLine, folder };
}

function isCard(argument: unknown): argument is Card {
  return typeof argument === 'object' && argument !== null && 'key' in argument && 'tooltip' in argument;
}

function say(words: string): void {
  vscode.window.setStatusBarMessage(`$(search) ${words}`, 4000);
}

function at(uri: string, line: number): Cursor {
  return { uri, position: { line, character: 0 } };
}

/** Lenses and code actions say where the reader is; panels name a place. */
function fromArgument(argument: unknown): Cursor | undefined {
  if (isPlace(argument)) {
    return at(argument.uri, argument.line);
  }
  return typeof argument === 'object' && argument !== null && 'position' in argument ? (argument as Cursor) : undefined;
}

function isPlace(argument: unknown): argument is { uri: string; line: number } {
  return (
    typeof argument === 'object' &&
    argument !== null &&
    'uri' in argument &&
    'line' in argument &&
    typeof argument.line === 'number'
  );
}
