/** Which failing tests are to be run again with something altered: those of the row or test on which it was asked. */

import * as vscode from 'vscode';

import { groupOf } from '../suspects/groupPicker';
import type { Group } from '../suspects/grouping';
import { type Cursor, cursor } from '../locations';
import { suspectOf } from '../suspects/suspectsView';

/** Arguments of the server command `investigate`: a folder, and the names of tests, or else where the cursor is. */
export type Target = [folder: string | null, tests: string[] | null, cursor?: Cursor | null];

/**
 * The tests that a command is about.
 *
 * @param argument - A row of the view, a test of the Test Explorer, or nothing.
 * @param testsOf - The names of the tests in an item of the Test Explorer; undefined for all of a folder.
 */
export function targetOf(argument: unknown, testsOf: (item: vscode.TestItem) => string[] | undefined): Target {
  const failure = groupOf(argument);
  if (failure) {
    return [failure.folder, failure.tests];
  }
  const group = testGroupOf(argument);
  if (group?.test) {
    return [folderOf(group.suspects[0]?.uri), [group.test]];
  }
  const suspect = suspectOf(argument);
  if (suspect) {
    return [folderOf(suspect.uri), suspect.failingTests];
  }
  if (isTestItem(argument)) {
    return [folderOf((argument.uri ?? vscode.Uri.parse(argument.id)).toString()), testsOf(argument) ?? null];
  }
  return [null, null, cursor() ?? null];
}

function folderOf(uri: string | undefined): string | null {
  return (uri && vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri))?.uri.toString()) ?? null;
}

function testGroupOf(argument: unknown): Group | undefined {
  return typeof argument === 'object' && argument !== null && 'group' in argument && 'rows' in argument
    ? (argument.group as Group)
    : undefined;
}

function isTestItem(argument: unknown): argument is vscode.TestItem {
  return typeof argument === 'object' && argument !== null && 'children' in argument && 'label' in argument;
}
