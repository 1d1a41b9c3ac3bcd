/** The list of what can be found out about a failing test, the quickest answer first. */

import * as vscode from 'vscode';

import { t } from '../l10n';
import { serverCommands } from '../protocol';
import type { Target } from './investigation';

interface Choice extends vscode.QuickPickItem {
  command: string;
  /** Whether it is about one test, rather than about all that were named. */
  one?: boolean;
}

/** Commands that work for compiled programs, too. */
const ofCompiled: string[] = [
  serverCommands.why,
  serverCommands.investigate,
  serverCommands.comparePassing,
  serverCommands.compareValues,
];

/** Ask which experiment to make, and make it. */
export async function chooseExperiment([folder, tests, at]: Target, compiled: boolean): Promise<void> {
  const offered = choices().filter(({ command }) => !compiled || ofCompiled.includes(command));
  const picked = await vscode.window.showQuickPick(offered, {
    title: t('Why does it fail?'),
    placeHolder: t('What to find out about the failing test'),
    matchOnDetail: true,
  });
  if (picked) {
    const named = picked.one ? (tests?.[0] ?? null) : tests;
    await vscode.commands.executeCommand(picked.command, folder, named, at ?? null);
  }
}

function choices(): Choice[] {
  const choice = (icon: string, label: string, detail: string, command: string, one = false): Choice => ({
    ...{ label, detail, command, one },
    iconPath: new vscode.ThemeIcon(icon),
  });
  return [
    choice('question', t('Why does it fail?'), t('One answer, from all that is known'), serverCommands.why),
    choice(
      'lightbulb-sparkle',
      t('Find out what would make it pass'),
      t('Runs it again with one thing altered at a time'),
      serverCommands.investigate,
    ),
    choice('lightbulb-autofix', t('Find a fix'), t('Changes with which all tests pass'), serverCommands.findFix),
    choice(
      'git-compare',
      t('Which change broke it?'),
      t('Takes back your changes, one after the other'),
      serverCommands.findChange,
    ),
    choice(
      'symbol-variable',
      t('Show values of the failing run'),
      t('At the ends of its lines'),
      serverCommands.showValues,
      true,
    ),
    choice(
      'search-fuzzy',
      t('Find the cause'),
      t('From the failure back to the first wrong value'),
      serverCommands.findCause,
      true,
    ),
    choice(
      'diff-multiple',
      t('Compare with a passing run'),
      t('Where the two part'),
      serverCommands.comparePassing,
      true,
    ),
    choice(
      'arrow-swap',
      t('Compare values with passing tests'),
      t('Which values only failing tests have'),
      serverCommands.compareValues,
    ),
  ];
}
