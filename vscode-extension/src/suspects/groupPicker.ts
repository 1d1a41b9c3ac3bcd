/** The lists in which failure groups, and tests of them, are chosen. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { groupLabel } from './failureGroups';
import { t } from '../l10n';
import type { Model } from '../model';
import type { FailureGroup } from '../listed';
import { serverCommands } from '../protocol';

interface Item extends vscode.QuickPickItem {
  group: FailureGroup;
}

/** Show the suspects of a group: the one given, or one that the user chooses. */
export async function selectGroup(server: Server, model: Model, given?: FailureGroup): Promise<void> {
  const group = given ?? (await choose(model.groups, t('Show the suspects of which failure group?')));
  if (group) {
    await server.command(serverCommands.selectGroup, group.folder, group.id);
  }
}

/** Make one group of the one given, or else the current one, and those that the user chooses. */
export async function mergeGroups(server: Server, model: Model, given?: FailureGroup): Promise<void> {
  const group = given ?? model.currentGroup;
  if (!group) {
    return;
  }
  const others = model.groups.filter((one) => one.folder === group.folder && one.id !== group.id);
  const picked = await vscode.window.showQuickPick(others.map(item), {
    canPickMany: true,
    title: t('Merge with “{0}”', groupLabel(group)),
    placeHolder: t('The groups whose tests fail for the same fault'),
  });
  if (picked?.length) {
    const ids = [group.id, ...picked.map((one) => one.group.id)];
    await server.command(serverCommands.mergeGroups, group.folder, ids);
  }
}

/** Part tests that the user chooses from the group given, or else from the current one. */
export async function splitGroup(server: Server, model: Model, given?: FailureGroup): Promise<void> {
  const group = given ?? model.currentGroup;
  const tests = group?.tests ?? model.failingTests;
  const picked = await vscode.window.showQuickPick(
    tests.map((label) => ({ label })),
    {
      canPickMany: true,
      title: group ? t('Split “{0}”', groupLabel(group)) : t('Split the failing tests'),
      placeHolder: t('The tests that fail for another fault'),
    },
  );
  if (picked?.length) {
    const names = picked.map(({ label }) => label);
    await server.command(serverCommands.splitGroup, group?.folder ?? null, group?.id ?? null, names);
  }
}

async function choose(groups: readonly FailureGroup[], title: string): Promise<FailureGroup | undefined> {
  return (await vscode.window.showQuickPick(groups.map(item), { title, matchOnDetail: true }))?.group;
}

function item(group: FailureGroup): Item {
  return {
    label: groupLabel(group),
    description: group.current ? '$(target)' : '',
    detail: group.tests.join(', '),
    group,
  };
}

/** The group of a row that a command was given on. */
export function groupOf(argument: unknown): FailureGroup | undefined {
  return typeof argument === 'object' && argument !== null && 'failure' in argument
    ? (argument.failure as FailureGroup)
    : undefined;
}
