import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { CancellationTokenSource } from 'vscode';

import { Model } from '../src/model';
import { methods, serverCommands, type Test, type TestResults } from '../src/protocol';
import { failureOf, Testing } from '../src/testing/testing';
import { defined, report, suspect } from './samples';
import { ScriptedServer, status } from './standins/server';
import { type Run, type TestController, workbench } from './standins/workbench';

const FOLDER = 'file:///project';
const test = (name: string, verdict: Test['verdict'], message = ''): Test => ({
  ...{ name, verdict, message, calls: [], seconds: 0.5, uri: `${FOLDER}/test_cart.py`, line: 3 },
  ...{ failed: null, compared: null },
});
const failing = test('test_cart.py::test_sum', 'failed', 'assert 1 == 2');
const passing = test('test_cart.py::test_tax', 'passed');
const results: TestResults = {
  folder: FOLDER,
  tests: [failing, passing],
  files: [{ uri: suspect.uri, statements: 9, executed: 7, tests: [0] }],
};

let server: ScriptedServer;
let model: Model;
let testing: Testing;
let controller: TestController;

/** The server runs the tests, ranks, and is ready. */
function record(): void {
  for (const state of ['runningTests', 'ranking', 'ready'] as const) {
    server.changed.fire({ ...status, state });
  }
}

async function run(label: string, token = new CancellationTokenSource()): Promise<Run> {
  const profile = controller.profiles.find((one) => one.label === label);
  await profile?.run({ profile }, token.token);
  return defined(controller.runs.at(-1));
}

beforeEach(() => {
  workbench.reset('/project');
  server = new ScriptedServer();
  server.answers[methods.suspects] = report;
  server.answers[methods.testResults] = [results];
  server.answers[serverCommands.runTests] = record;
  model = new Model(server.server);
  testing = new Testing(server.server, model);
  controller = defined(workbench.tests);
});
afterEach(() => {
  testing.dispose();
  model.dispose();
});

describe('the message of a failing test', () => {
  it('is at the line in which it failed, and compares both values', () => {
    const range = { start: { line: 4, character: 2 }, end: { line: 4, character: 30 } };
    const failed = { uri: `${FOLDER}/test_cart.py`, range };
    const said = failureOf({ ...failing, failed, compared: { expected: '2', actual: '1' } });
    expect(said).toMatchObject({ message: 'assert 1 == 2', expectedOutput: '2', actualOutput: '1' });
    expect(said.location?.uri.path).toBe('/project/test_cart.py');
    expect(said.location?.range.start).toMatchObject({ line: 4, character: 2 });
    expect(failureOf(failing).location).toBeUndefined();
  });
});

/** Who still waits for something that a run of the tests waits for. */
const waiting = (token: CancellationTokenSource) => [
  (token as unknown as { listeners: number }).listeners,
  (model as unknown as { changed: { listeners: Set<unknown> } }).changed.listeners.size,
];

describe('“Localize Fault”', () => {
  it('records the tests of the folders, and fails where a test failed', async () => {
    const done = await run('Localize Fault');
    expect(server.calls).toContainEqual([serverCommands.runTests, [FOLDER], {}]);
    expect(done.results).toEqual(['started project', 'failed test_sum: assert 1 == 2', 'passed test_tax']);
    expect(done.output).toContain('1 of 2 tests failed. 1 suspect is ranked in the Suspects view.\r\n');
    expect(done.output).toContain('test_cart.py::test_sum: assert 1 == 2\r\n');
    expect(done.ended).toBe(true);
  });

  it('leaves no listener when the server rejects the run', async () => {
    const token = new CancellationTokenSource();
    const before = waiting(token);
    server.answers[serverCommands.runTests] = () => Promise.reject(new Error('The tests are running already.'));
    const done = await run('Localize Fault', token);
    expect(done.results).toEqual(['started project', 'errored project: The tests are running already.']);
    expect(done.ended).toBe(true);
    expect(waiting(token)).toEqual(before);
    token.cancel(); // of a run that is over
    expect(server.calls).not.toContainEqual([serverCommands.cancelTests]);
  });

  it('leaves no listener when the tests have run', async () => {
    const token = new CancellationTokenSource();
    const before = waiting(token);
    await run('Localize Fault', token);
    expect(waiting(token)).toEqual(before);
  });

  it('ends when the server goes away meanwhile', async () => {
    const token = new CancellationTokenSource();
    const before = waiting(token);
    server.answers[serverCommands.runTests] = () => {
      server.changed.fire({ ...status, state: 'runningTests' });
      server.changed.fire({ state: 'starting' });
    };
    const done = await run('Localize Fault', token);
    expect(done.results[1]).toMatch(/^errored project: The Suspectra server is not running/);
    expect(server.calls).not.toContainEqual([methods.testResults, {}]);
    expect(waiting(token)).toEqual(before);
  });

  it('is cancelled by its button', async () => {
    const token = new CancellationTokenSource();
    server.answers[serverCommands.runTests] = () => {
      server.changed.fire({ ...status, state: 'runningTests' });
      token.cancel();
    };
    server.answers[serverCommands.cancelTests] = () => {
      server.changed.fire({ ...status, state: 'ready' });
    };
    expect((await run('Localize Fault', token)).results).toEqual(['started project', 'skipped project']);
  });

  it('passes where no test failed, and tints nothing', async () => {
    server.answers[methods.testResults] = [{ ...results, tests: [passing] }];
    const done = await run('Localize Fault');
    expect(done.results).toEqual(['started project', 'passed test_tax']);
    expect(done.coverage).toEqual([]);
  });

  it('shows coverage where it was asked for', async () => {
    const done = await run('Localize Fault with Coverage');
    expect(done.coverage.map(({ uri, statementCoverage }) => [uri.path, statementCoverage])).toEqual([
      ['/project/shop/cart.py', { covered: 7, total: 9 }],
    ]);
  });

  it('is there in a trusted workspace only', async () => {
    workbench.workspace.isTrusted = false;
    workbench.foldersChanged.fire(undefined);
    expect([...controller.items]).toEqual([]);
    await expect(run('Localize Fault')).rejects.toThrow('Tests are run only in a workspace you trust.');
    workbench.workspace.isTrusted = true;
    workbench.trusted.fire(undefined);
    expect([...controller.items].map(([id]) => id)).toEqual([FOLDER]);
  });
});

describe('the last recording', () => {
  /** A person turns publishing on. */
  async function publish(): Promise<Run> {
    vi.useFakeTimers();
    try {
      server.changed.fire({ ...status, state: 'ready' });
      workbench.settings['suspectra.publishCoverage'] = true;
      workbench.configured.fire({ affectsConfiguration: (name) => name === 'suspectra.publishCoverage' });
      await vi.runAllTimersAsync();
      return defined(controller.runs.at(-1));
    } finally {
      vi.useRealTimers();
    }
  }

  it('is published, each test with its result and its coverage, where this is wanted', async () => {
    const run = await publish();
    expect(run.name).toBe('Last recording');
    expect(run.results).toEqual(['failed test_sum: assert 1 == 2', 'passed test_tax']);
    expect(run.coverage[0]?.includesTests?.map(({ label }) => label)).toEqual(['test_sum']);
    expect(run.ended).toBe(true);
  });

  it('is published once', async () => {
    await publish();
    vi.useFakeTimers();
    server.changed.fire({ ...status, state: 'stale' });
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    expect(controller.runs).toHaveLength(1);
  });

  it('lets one of its tests be run', async () => {
    await publish();
    const [, file] = defined([...defined(controller.items.get(FOLDER)).children][0]);
    const [, chosen] = defined([...file.children][1]);
    await controller.profiles[0]?.run({ include: [chosen] }, new CancellationTokenSource().token);
    expect(server.calls).toContainEqual([serverCommands.runTests, [FOLDER], { [FOLDER]: [passing.name] }]);
    expect(controller.runs.at(-1)?.results).toEqual(['started test_tax', 'passed test_tax']);
  });

  it('says which statements ran, and for one test which of them it ran', async () => {
    await publish();
    server.answers[methods.coverage] = [{ line: 3, endLine: 4, tests: 2 }];
    const profile = controller.profiles[1] as unknown as Required<vscode.TestRunProfile>;
    const file = new vscode.FileCoverage(vscode.Uri.parse(suspect.uri), new vscode.TestCoverageCount(7, 9));
    const { token } = new CancellationTokenSource();
    const details = await profile.loadDetailedCoverage(undefined as never, file, token);
    expect(details).toEqual([{ executed: 2, location: new vscode.Range(2, 0, 3, 10_000) }]);
    const [, tests] = defined([...defined(controller.items.get(FOLDER)).children][0]);
    const one = defined([...tests.children][0])[1] as unknown as vscode.TestItem;
    await profile.loadDetailedCoverageForTest(undefined as never, file, one, token);
    expect(server.calls.slice(-2)).toEqual([
      [methods.coverage, { uri: suspect.uri }],
      [methods.coverage, { uri: suspect.uri, test: failing.name }],
    ]);
  });
});
