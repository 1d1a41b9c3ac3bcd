/**
 * Suspectra in the Test Explorer: “Localize Fault” records and ranks; and for who wants it, the tests of the last
 * recording with their results and with the coverage of each.
 */

import * as vscode from 'vscode';

import type { Server } from './client';
import { t } from './l10n';
import type { Model } from './model';
import { type Executed, methods, serverCommands, type Test, type TestResults } from './protocol';
import { runMessage } from './words';

const PUBLISH_PAUSE = 500;
const LAST_COLUMN = 10_000;

export class Testing implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('suspectra', 'Suspectra');
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
    this.controller.createRunProfile(t('Localize Fault'), vscode.TestRunProfileKind.Run, run, false);
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

  private get publishing(): boolean {
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

  /** Record the tests; the result of the run is what the ranking says. */
  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      throw new Error(t('Tests are run only in a workspace you trust.'));
    }
    const run = this.controller.createTestRun(request, t('Localize Fault'));
    const items = this.roots(request);
    for (const item of items) {
      run.started(item);
    }
    token.onCancellationRequested(() => void this.server.command(serverCommands.cancelTests));
    try {
      const ended = this.ended();
      await this.server.command(serverCommands.runTests, items.map(({ id }) => id));
      await ended;
      const all = await this.server.request<TestResults[]>(methods.testResults, {});
      const results = all.filter(({ folder }) => items.some((item) => item === this.root(folder)));
      if (token.isCancellationRequested) {
        items.forEach((item) => run.skipped(item));
      } else {
        this.tell(run, results);
      }
      if (request.profile === this.coverage || this.publishing) {
        this.addCoverage(run, results);
      }
      this.published = JSON.stringify(all);
    } catch (error) {
      const message = new vscode.TestMessage(error instanceof Error ? error.message : String(error));
      items.forEach((item) => run.errored(item, message));
    } finally {
      run.end();
    }
  }

  /** Resolves when tests that are about to start have been run and ranked. */
  private ended(): Promise<void> {
    let started = false;
    return new Promise((done) => {
      const listener = this.model.onDidChange(() => {
        const { state } = this.model.condition;
        started ||= state === 'runningTests';
        const over = state !== 'runningTests' && state !== 'ranking';
        if (started && over) {
          listener.dispose();
          done();
        }
      });
    });
  }

  /** Publish the last recording, once, where this is wanted: it may have been made in a terminal. */
  private publishSoon(): void {
    clearTimeout(this.pending);
    const { state } = this.model.condition;
    if (this.publishing && vscode.workspace.isTrusted && ['ready', 'stale', 'noFailingTests'].includes(state)) {
      this.pending = setTimeout(() => {
        this.publish().catch((error: unknown) => this.server.output.warn(String(error)));
      }, PUBLISH_PAUSE);
    }
  }

  private async publish(): Promise<void> {
    const results = await this.server.request<TestResults[]>(methods.testResults, {});
    const text = JSON.stringify(results);
    if (text === this.published || !this.publishing) {
      return;
    }
    this.published = text;
    // nobody asked for this run now: it keeps the focus where it is, and is forgotten with the window
    const request = new vscode.TestRunRequest(undefined, undefined, this.coverage, false, true);
    const run = this.controller.createTestRun(request, t('Last recording'), false);
    this.tell(run, results);
    this.addCoverage(run, results);
    run.end();
  }

  /** Say how the tests ended: each one if they are listed, else all of a folder in one. */
  private tell(run: vscode.TestRun, results: TestResults[]): void {
    for (const { folder, tests } of results) {
      const root = this.root(folder);
      if (!root) {
        continue;
      }
      if (this.publishing) {
        this.list(root, tests);
      }
      const items = this.itemsOf(root);
      for (const test of this.publishing ? tests : []) {
        const item = items.get(test.name);
        if (item) {
          tellTest(run, item, test);
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
      if (!this.publishing && failed.length) {
        run.failed(root, new vscode.TestMessage(message));
      } else if (!this.publishing) {
        run.passed(root);
      }
    }
  }

  private addCoverage(run: vscode.TestRun, results: TestResults[]): void {
    for (const { folder, tests, files } of results) {
      const root = this.root(folder);
      const items = root ? this.itemsOf(root) : new Map<string, vscode.TestItem>();
      for (const file of files) {
        const executing = file.tests.map((index) => items.get(tests[index]?.name ?? '')).filter((item) => item !== undefined);
        const count = new vscode.TestCoverageCount(file.executed, file.statements);
        run.addCoverage(new vscode.FileCoverage(vscode.Uri.parse(file.uri), count, undefined, undefined, executing));
      }
    }
  }

  private async details(uri: vscode.Uri, test?: string): Promise<vscode.FileCoverageDetail[]> {
    const statements = await this.server.request<Executed[]>(methods.coverage, { uri: uri.toString(), ...(test ? { test } : {}) });
    return statements.map(
      ({ line, endLine, tests }) => new vscode.StatementCoverage(tests, new vscode.Range(line - 1, 0, endLine - 1, LAST_COLUMN)),
    );
  }

  /** The tests of a folder, by file. */
  private list(root: vscode.TestItem, tests: Test[]): void {
    const files = new Map<string, { uri: string | null; items: vscode.TestItem[] }>();
    for (const { name, uri, line } of tests) {
      const file = name.includes('::') ? name.replace(/::.*$/, '') : '';
      const item = this.controller.createTestItem(name, name.replace(/^.*?::/, ''), uri ? vscode.Uri.parse(uri) : undefined);
      if (line) {
        item.range = new vscode.Range(line - 1, 0, line - 1, 0);
      }
      this.nameOf.set(item, name);
      const known = files.get(file) ?? { uri, items: [] };
      known.items.push(item);
      files.set(file, known);
    }
    root.children.replace(
      [...files].flatMap(([file, { uri, items }]) => {
        if (!file) {
          return items;
        }
        const parent = this.controller.createTestItem(file, file, uri ? vscode.Uri.parse(uri) : undefined);
        parent.children.replace(items);
        return [parent];
      }),
    );
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

  /** The folders a request is about: whichever test is chosen, its folder is recorded whole. */
  private roots({ include, exclude }: vscode.TestRunRequest): vscode.TestItem[] {
    const all = [...this.controller.items].map(([, item]) => item);
    const rootOf = (item: vscode.TestItem): vscode.TestItem => (item.parent ? rootOf(item.parent) : item);
    const wanted = include?.map(rootOf) ?? all;
    return all.filter((item) => wanted.includes(item) && !exclude?.includes(item));
  }

  private root(folder: string): vscode.TestItem | undefined {
    return this.controller.items.get(vscode.Uri.parse(folder).toString());
  }
}

function tellTest(run: vscode.TestRun, item: vscode.TestItem, { verdict, message, seconds }: Test): void {
  switch (verdict) {
    case 'passed':
    case 'xpassed':
      return run.passed(item, seconds * 1000);
    case 'failed':
      return run.failed(item, new vscode.TestMessage(message || verdict), seconds * 1000);
    case 'error':
      return run.errored(item, new vscode.TestMessage(message || verdict), seconds * 1000);
    default:
      return run.skipped(item);
  }
}
