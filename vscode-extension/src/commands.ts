/** The commands of the palette, the view and the lenses. */

import * as vscode from 'vscode';

import type { Server } from './client';
import type { Card } from './suspects/failureCards';
import { groupOf, mergeGroups, selectGroup, splitGroup } from './suspects/groupPicker';
import { GROUPINGS } from './suspects/grouping';
import { chooseExperiment } from './runs/experimentPicker';
import { targetOf } from './runs/investigation';
import { jump } from './panels/jumpPicker';
import { t } from './l10n';
import type { Model } from './model';
import { type Cursor, cursor, open, locationOf } from './locations';
import type { Suspect } from './listed';
import { type CommandLine, type Learned, methods, serverCommands } from './protocol';
import type { Slices } from './runs/slices';
import type { StatusItem } from './status';
import { isFunction, suspectOf, type SuspectsView } from './suspects/suspectsView';
import { chooseComparison, selectTechnique } from './suspects/techniquePicker';
import type { Testing } from './testing/testing';
import type { TestingView } from './testing/testingView';
import { learnedText } from './messages';

interface Parts {
  server: Server;
  model: Model;
  view: SuspectsView;
  status: StatusItem;
  slices: Slices;
  testing: Testing;
  testingView: TestingView;
}

type Run = (suspect: Suspect | undefined, argument: unknown) => unknown;

/** Register everything in the category “Suspectra”. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const { server, model, view, status, slices, testing, testingView } = parts;
  const step =
    (command: string, ...from: (() => unknown)[]): Run =>
    async () => {
      if (!(await server.command(command, ...from.map((position) => position() ?? null)))) {
        showStatus(
          command === serverCommands.back ? t('This is where you began') : t('There are no suspects to go to'),
        );
      }
    };
  const ofTest =
    (command: string): Run =>
    (_, argument) => {
      const [folder, tests, at] = targetOf(argument, (item) => testing.testsOf(item));
      return server.command(command, folder, tests?.[0] ?? null, at);
    };
  const walk = (command: string) => async () => {
    if (!(await server.command(command, cursor() ?? null))) {
      showStatus(t('No cause is known'));
    }
  };
  const about =
    (command: string, otherwise = t('This line is not a suspect')): Run =>
    async (suspect, argument) => {
      if (!(await server.command(command, ...placeOf(suspect, argument)))) {
        showStatus(otherwise);
      }
    };
  const mark =
    (command: string): Run =>
    async (suspect, argument) => {
      const scope = isFunction(argument) ? ['function'] : [];
      if (!(await server.command(command, ...placeOf(suspect, argument), ...scope))) {
        showStatus(t('This line is not a suspect'));
      }
    };
  const commands: Record<string, Run> = {
    localize: () => server.command(serverCommands.localize),
    runTests: () => runTests(server),
    cancelTests: () => server.command(serverCommands.cancelTests),
    why: (_, argument) => server.command(serverCommands.why, ...targetOf(argument, (item) => testing.testsOf(item))),
    investigate: (_, argument) =>
      server.command(serverCommands.investigate, ...targetOf(argument, (item) => testing.testsOf(item))),
    compareValues: (_, argument) =>
      server.command(serverCommands.compareValues, ...targetOf(argument, (item) => testing.testsOf(item))),
    findFix: (_, argument) =>
      server.command(serverCommands.findFix, ...targetOf(argument, (item) => testing.testsOf(item))),
    findChange: (_, argument) =>
      server.command(serverCommands.findChange, ...targetOf(argument, (item) => testing.testsOf(item))),
    showDifference: (suspect) => server.command(serverCommands.showDifference, ...locationOf(suspect)),
    undoChange: (suspect, argument) => server.command(serverCommands.undoChange, ...placeOf(suspect, argument)),
    testSuspect: (suspect) => server.command(serverCommands.testSuspect, ...locationOf(suspect)),
    findCause: ofTest(serverCommands.findCause),
    comparePassing: ofTest(serverCommands.comparePassing),
    chooseComparison: async (_, argument) => {
      const [folder, tests, at] = targetOf(argument, (item) => testing.testsOf(item));
      const technique = await chooseComparison(server);
      return (
        technique && server.command(serverCommands.comparePassing, folder, tests?.[0] ?? null, at ?? null, technique)
      );
    },
    compareRuns: ofTest(serverCommands.compareRuns),
    clearComparison: async () => {
      if (!(await server.command(serverCommands.clearComparison))) {
        showStatus(t('No runs were compared'));
      }
    },
    stateIsRight: (suspect) => server.command(serverCommands.stateIsRight, ...locationOf(suspect)),
    stateIsWrong: (suspect) => server.command(serverCommands.stateIsWrong, ...locationOf(suspect)),
    nextInChain: walk(serverCommands.nextInChain),
    previousInChain: walk(serverCommands.previousInChain),
    clearCauses: () => server.command(serverCommands.clearCauses),
    whatLedHere: (suspect) => server.command(serverCommands.whatLedHere, ...locationOf(suspect)),
    whatThisInfluenced: (suspect) => server.command(serverCommands.whatThisInfluenced, ...locationOf(suspect)),
    debugHere: (suspect) => server.command(serverCommands.debugHere, ...locationOf(suspect)),
    debugTest: ofTest(serverCommands.debugTest),
    debugChain: () => server.command(serverCommands.debugChain),
    recordTestingView: () => testingView.change(),
    showSlicePicture: () => slices.showPicture(),
    clearSlice: () => slices.clear(),
    cancelInvestigation: () => server.command(serverCommands.cancelInvestigation),
    nextSuspect: step(serverCommands.nextSuspect, cursor),
    previousSuspect: step(serverCommands.previousSuspect, cursor),
    firstSuspect: step(serverCommands.firstSuspect),
    back: step(serverCommands.back),
    explain: about(serverCommands.explain),
    whyNot: about(serverCommands.whyNot, t('Nothing is measured on this line')),
    tellApart: about(serverCommands.tellApart),
    markExamined: mark(serverCommands.markExamined),
    markInnocent: mark(serverCommands.markInnocent),
    clearExamined: () => server.command(serverCommands.clearExamined),
    jump: async (suspect, argument) => {
      const from = suspect ? cursorAt(suspect.uri, suspect.range.start.line) : (fromArgument(argument) ?? cursor());
      if (!(await jump(server, from))) {
        showStatus(t('There is nowhere to go from here'));
      }
    },
    showLearned: async () => {
      const learned = (await server.command(serverCommands.showLearned)) as Learned;
      await vscode.window.showInformationMessage(learnedText(learned), {
        modal: true,
        detail: t('Kept on this machine in {0}', learned.file),
      });
    },
    resetLearned: async () => {
      const there = await server.command(serverCommands.resetLearned);
      showStatus(there ? t('What was learned from your moves is forgotten') : t('Nothing was learned yet'));
    },
    selectTechnique: () => selectTechnique(server, model),
    selectGroup: (_, row) => selectGroup(server, model, groupOf(row)),
    mergeGroups: (_, row) => mergeGroups(server, model, groupOf(row)),
    splitGroup: (_, row) => splitGroup(server, model, groupOf(row)),
    resetGroups: async () => {
      const there = await server.command(serverCommands.resetGroups);
      showStatus(there ? t('The failure groups are as they were found') : t('No failure group was changed'));
    },
    open: async (suspect, argument) => {
      const target = suspect ?? (isPlaced(argument) ? argument : undefined);
      return target && open(target.uri, target.range.start.line, target.range.start.character);
    },
    filter: () => view.askForFilter(),
    clearFilter: () => view.setFilter(''),
    showExamined: () => view.showExamined(),
    menu: () => status.menu(),
    restart: () => server.restart(),
    cancelInstallation: () => server.cancelInstallation(),
    showOutput: () => server.output.show(),
    goToError: async (_, card) =>
      isCard(card) && card.location && open(card.location.uri, card.location.line, card.location.character),
    runAgain: async (_, row) => {
      const [folder, tests] = isCard(row) ? [row.folder] : targetOf(row, (item) => testing.testsOf(item));
      await (folder ? runAgain(server, folder, tests) : runTests(server));
    },
    showValues: async (_, argument) => {
      const [folder, tests, at] = targetOf(argument, (item) => testing.testsOf(item));
      await server.command(serverCommands.showValues, folder, tests?.[0] ?? null, at ?? null);
    },
    experiments: (_, argument) =>
      chooseExperiment(
        targetOf(argument, (item) => testing.testsOf(item)),
        'compiled' in model.condition && model.condition.compiled,
      ),
    configureBuild: () => runInTerminal(server, { build: true }),
    runOtherTests: (_, row) =>
      server.command(serverCommands.runTests, isCard(row) && row.folder ? [row.folder] : null, {}, true),
    copyInstallCommand: async (_, row) => {
      if (isCard(row) && row.package) {
        const { line } = await commandLine(server, { folder: row.folder, install: row.package });
        await vscode.env.clipboard.writeText(line);
        showStatus(t('The command is in the clipboard'));
      }
    },
    openInterpreterSetting: () =>
      vscode.commands.executeCommand('workbench.action.openSettings', 'suspectra.testInterpreter'),
    recordInTerminal: () => runInTerminal(server),
    copyCommandLine: async () => {
      await vscode.env.clipboard.writeText((await commandLine(server)).line);
      showStatus(t('The command line is in the clipboard'));
    },
  };
  for (const grouping of GROUPINGS) {
    commands[`groupBy.${grouping}`] = () => view.group(grouping);
  }
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`suspectra.${name}`, (argument?: unknown) =>
        withErrorMessage(async () => {
          const suspect = suspectOf(argument);
          await showGroupOf(suspect, parts);
          return run(suspect, argument);
        }),
      ),
    ),
  );
}

/** What is done with a suspect of another failure group begins with that group. */
async function showGroupOf(suspect: Suspect | undefined, { server, model }: Parts): Promise<void> {
  const group = suspect && model.failureOf(suspect);
  if (group && !group.current) {
    await selectGroup(server, model, group);
  }
}

/** Show the error of a command that fails. */
async function withErrorMessage(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    void vscode.window.showErrorMessage(`Suspectra: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Record the tests of the folder. If there are several folders, ask which. */
async function runTests(server: Server): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) {
    await server.command(serverCommands.runTests);
    return;
  }
  const current =
    vscode.window.activeTextEditor && vscode.workspace.getWorkspaceFolder(vscode.window.activeTextEditor.document.uri);
  const choice = (folder: vscode.WorkspaceFolder) => ({
    label: folder.name,
    description: folder.uri.fsPath,
    uris: [folder.uri.toString()],
  });
  const picked = await vscode.window.showQuickPick(
    [
      ...folders.toSorted((a, b) => Number(b === current) - Number(a === current)).map(choice),
      { label: t('All Folders'), description: '', uris: folders.map(({ uri }) => uri.toString()) },
    ],
    { title: t('Run Tests and Localize'), placeHolder: t('The folder whose tests to run') },
  );
  if (picked) {
    await server.command(serverCommands.runTests, picked.uris);
  }
}

/** Record the tests of a folder again, or some of them. */
async function runAgain(server: Server, folder: string, tests: string[] | null | undefined): Promise<void> {
  await server.command(serverCommands.runTests, [folder], ...(tests ? [{ [folder]: tests }] : []));
}

/** Record or build in a terminal, where the user sees the command line and can change it. */
async function runInTerminal(server: Server, what: { build?: boolean } = {}): Promise<void> {
  const { line, folder } = await commandLine(server, what);
  const terminal = vscode.window.createTerminal({ name: 'Suspectra', ...(folder ? { cwd: folder.uri } : {}) });
  terminal.show();
  terminal.sendText(line);
}

/** A command line for the current folder, or for the first one: by default the one that records the tests. */
async function commandLine(
  server: Server,
  what: { build?: boolean; install?: string; folder?: string | undefined } = {},
): Promise<{ line: string; folder: vscode.WorkspaceFolder | undefined }> {
  const editor = vscode.window.activeTextEditor;
  const folder =
    (editor && vscode.workspace.getWorkspaceFolder(editor.document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
  const answer = await server.request<CommandLine | null>(methods.commandLine, {
    ...(folder ? { folder: folder.uri.toString() } : {}),
    ...what,
  });
  if (!answer) {
    throw new Error(t('No folder is open.'));
  }
  return { line: answer.commandLine, folder };
}

/** The line that a command is about: of a row, of a panel, or that with the cursor. */
function placeOf(suspect: Suspect | undefined, argument: unknown): [string, number] {
  return isLocation(argument) && !suspect ? [argument.uri, argument.line] : locationOf(suspect);
}

function isCard(argument: unknown): argument is Card {
  return typeof argument === 'object' && argument !== null && 'key' in argument && 'tooltip' in argument;
}

function showStatus(message: string): void {
  vscode.window.setStatusBarMessage(`$(search) ${message}`, 4000);
}

function cursorAt(uri: string, line: number): Cursor {
  return { uri, position: { line, character: 0 } };
}

/** Lenses and code actions pass a cursor, panels a location. */
function fromArgument(argument: unknown): Cursor | undefined {
  if (isLocation(argument)) {
    return cursorAt(argument.uri, argument.line);
  }
  return typeof argument === 'object' && argument !== null && 'position' in argument ? (argument as Cursor) : undefined;
}

function isPlaced(argument: unknown): argument is Pick<Suspect, 'uri' | 'range'> {
  return typeof argument === 'object' && argument !== null && 'uri' in argument && 'range' in argument;
}

function isLocation(argument: unknown): argument is { uri: string; line: number } {
  return (
    typeof argument === 'object' &&
    argument !== null &&
    'uri' in argument &&
    'line' in argument &&
    typeof argument.line === 'number'
  );
}
