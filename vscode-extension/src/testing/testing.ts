/**
 * Suspectra in the Test Explorer. “Localize Fault” records and ranks. The tests of the last recording are listed with
 * their results, and on request with their coverage.
 */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import type { Model } from '../model';
import { type Coverage, methods, serverCommands, type Test, type TestResults } from '../protocol';
import { type Chosen, chosenTests, type TestNode, treeOf } from './testTree';
import { runMessage } from '../messages';

const PUBLISH_DEBOUNCE_MS = 500;
const LAST_COLUMN = 10_000;

export class Testing implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('suspectra', 'Suspectra');
  private readonly localizing: vscode.TestRunProfile;
  private readonly coverage: vscode.TestRunProfile;
  private readonly listeners: vscode.Disposable;
  private readonly nameOf = new WeakMap<vscode.TestItem, string>();
  private published = '';
  private pending: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly model: Model,
  ) {
    const run = (request: vscode.TestRunRequest, token: vscode.CancellationToken) => this.run(request, token);
    this.localizing = this.controller.createRunProfile(t('Localize Fault'), vscode.TestRunProfileKind.Run, run, false);
    this.coverage = this.controller.createRunProfile(
      t('Localize Fault with Coverage'),
      vscode.TestRunProfileKind.Coverage,
      run,
      false,
    );
    this.coverage.loadDetailedCoverage = (_run, file) => this.details(file.uri);
    this.coverage.loadDetailedCoverageForTest = (_run, file, test) => this.details(file.uri, this.nameOf.get(test));
    this.listeners = vscode.Disposable.from(
      this.controller,
      model.onDidChange(() => this.publishSoon()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.listFolders()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.listFolders()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('suspectra.publishCoverage')) {
          this.published = '';
          this.listFolders();
          this.publishSoon();
        }
      }),
    );
    this.listFolders();
  }

  dispose(): void {
    clearTimeout(this.pending);
    this.listeners.dispose();
  }

  /** The names of the tests in an item; undefined for all of a folder. */
  testsOf(item: vscode.TestItem): string[] | undefined {
    const name = this.nameOf.get(item);
    return name ? [name] : item.parent ? [...this.itemsOf(item).keys()] : undefined;
  }

  /** Coverage tints every file, so it is shown only where it was asked for. */
  private get showsCoverage(): boolean {
    return vscode.workspace.getConfiguration('suspectra').get<boolean>('publishCoverage', false);
  }

  /** One item a folder. Tests can be run in a trusted workspace only. */
  private listFolders(): void {
    const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
    this.controller.items.replace(
      folders.map(({ uri, name }) => {
        const item = this.controller.createTestItem(uri.toString(), name, uri);
        item.description = t('record all tests and rank the suspects');
        return item;
      }),
    );
  }

  /** Record and rank the tests, and report the results. */
  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      throw new Error(t('Tests are run only in a workspace you trust.'));
    }
    const run = this.controller.createTestRun(request, t('Localize Fault'));
    const all = [...this.controller.items].map(([, item]) => item);
    const chosen = chosenTests(all, (item) => this.nameOf.get(item), request.include, request.exclude);
    if (!chosen.size) {
      run.end(); // all of it is excluded
      return;
    }
    const items = [...chosen].flatMap(([root, names]) => (names ? this.itemsNamed(root, names) : [root]));
    for (const item of items) {
      run.started(item);
    }
    try {
      await this.record(chosen, token);
      const results = await this.server.request<TestResults[]>(methods.testResults, {});
      const own = results.filter(({ folder }) => {
        const root = this.root(folder);
        return root && chosen.has(root);
      });
      if (token.isCancellationRequested) {
        items.forEach((item) => run.skipped(item));
      } else {
        this.reportResults(run, own, chosen);
      }
      if (request.profile === this.coverage || this.showsCoverage) {
        this.addCoverage(run, own);
      }
      this.published = JSON.stringify(results);
    } catch (error) {
      const message = new vscode.TestMessage(error instanceof Error ? error.message : String(error));
      items.forEach((item) => run.errored(item, message));
    } finally {
      run.end();
    }
  }

  /** Have the server run the tests and rank them. However this ends, it leaves no listener. */
  private async record(chosen: ReadonlyMap<vscode.TestItem, Chosen>, token: vscode.CancellationToken): Promise<void> {
    const folders = [...chosen.keys()].map(({ id }) => id);
    const tests = Object.fromEntries([...chosen].flatMap(([{ id }, names]) => (names ? [[id, names]] : [])));
    const warn = (error: unknown) => this.server.output.warn(String(error));
    const listeners = [
      token.onCancellationRequested(() => void this.server.command(serverCommands.cancelTests).catch(warn)),
    ];
    let started = false;
    const ranked = new Promise<void>((resolve, reject) => {
      const check = () => {
        const { condition } = this.model;
        started ||= condition.state === 'runningTests';
        if (!('technique' in condition)) {
          reject(new Error(t('The Suspectra server is not running. See the output “Suspectra” for the reason.')));
        } else if (started && condition.state !== 'runningTests' && condition.state !== 'ranking') {
          resolve();
        }
      };
      listeners.push(this.model.onDidChange(check));
    });
    try {
      await Promise.all([this.server.command(serverCommands.runTests, folders, tests), ranked]);
    } finally {
      vscode.Disposable.from(...listeners).dispose();
    }
  }

  /** Publish the last recording once. It may have been made in a terminal. */
  private publishSoon(): void {
    clearTimeout(this.pending);
    const { state } = this.model.condition;
    if (vscode.workspace.isTrusted && ['ready', 'stale', 'noFailingTests'].includes(state)) {
      this.pending = setTimeout(() => {
        this.publish().catch((error: unknown) => this.server.output.warn(String(error)));
      }, PUBLISH_DEBOUNCE_MS);
    }
  }

  private async publish(): Promise<void> {
    const results = await this.server.request<TestResults[]>(methods.testResults, {});
    const text = JSON.stringify(results);
    if (text === this.published) {
      return;
    }
    this.published = text;
    // the user did not start this run: it keeps the focus, and VS Code does not store it
    const profile = this.showsCoverage ? this.coverage : this.localizing;
    const request = new vscode.TestRunRequest(undefined, undefined, profile, false, true);
    const run = this.controller.createTestRun(request, t('Last recording'), false);
    this.reportResults(run, results);
    if (this.showsCoverage) {
      this.addCoverage(run, results);
    }
    run.end();
  }

  /** Report results, of the chosen tests if only some were chosen. Tests that are not listed count for their folder. */
  private reportResults(
    run: vscode.TestRun,
    results: TestResults[],
    chosen?: ReadonlyMap<vscode.TestItem, Chosen>,
  ): void {
    for (const { folder, tests: all } of results) {
      const root = this.root(folder);
      if (!root) {
        continue;
      }
      const names = chosen?.get(root);
      const tests = names ? all.filter(({ name }) => names.includes(name)) : all;
      this.listTests(root, all);
      const items = this.itemsOf(root);
      for (const test of tests) {
        const item = items.get(test.name);
        if (item) {
          reportTest(run, item, test);
        }
      }
      const failed = tests.filter(({ verdict }) => verdict === 'failed' || verdict === 'error');
      const folderOf = (uri: string) => vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri))?.uri.toString();
      const suspects = this.model.suspects.filter(({ uri }) => folderOf(uri) === root.id);
      const message = failed.length
        ? runMessage(failed.length, tests.length, suspects.length)
        : t('No test failed in the last run');
      for (const line of [...failed.map((test) => `${test.name}: ${test.message}`), message]) {
        run.appendOutput(`${line.replaceAll(/\s+/g, ' ')}\r\n`);
      }
    }
  }

  private addCoverage(run: vscode.TestRun, results: TestResults[]): void {
    for (const { folder, tests, files } of results) {
      const root = this.root(folder);
      const items = root ? this.itemsOf(root) : new Map<string, vscode.TestItem>();
      for (const file of files) {
        const executing = file.tests
          .map((index) => items.get(tests[index]?.name ?? ''))
          .filter((item) => item !== undefined);
        const count = new vscode.TestCoverageCount(file.executed, file.statements);
        run.addCoverage(new vscode.FileCoverage(vscode.Uri.parse(file.uri), count, undefined, undefined, executing));
      }
    }
  }

  private async details(uri: vscode.Uri, test?: string): Promise<vscode.FileCoverageDetail[]> {
    const statements = await this.server.request<Coverage[]>(methods.coverage, {
      uri: uri.toString(),
      ...(test ? { test } : {}),
    });
    return statements.map(
      ({ line, endLine, tests }) =>
        new vscode.StatementCoverage(tests, new vscode.Range(line - 1, 0, endLine - 1, LAST_COLUMN)),
    );
  }

  /** List the tests of a folder, below their files and classes. */
  private listTests(root: vscode.TestItem, tests: Test[]): void {
    const item = ({ id, label, uri, test, children }: TestNode): vscode.TestItem => {
      const made = this.controller.createTestItem(id, label, uri ? vscode.Uri.parse(uri) : undefined);
      if (test) {
        this.nameOf.set(made, test.name);
      }
      if (test?.line) {
        made.range = new vscode.Range(test.line - 1, 0, test.line - 1, 0);
      }
      made.children.replace(children.map(item));
      return made;
    };
    root.children.replace(treeOf(tests).map(item));
  }

  private itemsNamed(root: vscode.TestItem, names: readonly string[]): vscode.TestItem[] {
    const items = this.itemsOf(root);
    return names.map((name) => items.get(name)).filter((item) => item !== undefined);
  }

  private itemsOf(parent: vscode.TestItem, found = new Map<string, vscode.TestItem>()): Map<string, vscode.TestItem> {
    for (const [, item] of parent.children) {
      const name = this.nameOf.get(item);
      if (name) {
        found.set(name, item);
      }
      this.itemsOf(item, found);
    }
    return found;
  }

  private root(folder: string): vscode.TestItem | undefined {
    return this.controller.items.get(vscode.Uri.parse(folder).toString());
  }
}

function reportTest(run: vscode.TestRun, item: vscode.TestItem, test: Test): void {
  const { verdict, seconds } = test;
  switch (verdict) {
    case 'passed':
    case 'xpassed':
      run.passed(item, seconds * 1000);
      break;
    case 'failed':
      run.failed(item, failureOf(test), seconds * 1000);
      break;
    case 'error':
      run.errored(item, failureOf(test), seconds * 1000);
      break;
    default:
      run.skipped(item);
  }
}

/** What a test says at the line in which it failed: its message, and the two values that its assertion compared. */
export function failureOf({ verdict, message, failed, compared }: Test): vscode.TestMessage {
  const text = message || verdict;
  const said = compared
    ? vscode.TestMessage.diff(text, compared.expected, compared.actual)
    : new vscode.TestMessage(text);
  if (failed) {
    const { start, end } = failed.range;
    const range = new vscode.Range(start.line, start.character, end.line, end.character);
    said.location = new vscode.Location(vscode.Uri.parse(failed.uri), range);
  }
  return said;
}
