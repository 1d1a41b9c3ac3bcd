import { afterEach, beforeEach, expect, it } from 'vitest';

import { Model } from '../src/model';
import { methods, type Suspects } from '../src/protocol';
import { report, suspect } from './samples';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

let server: ScriptedServer;
let model: Model;
let changes: number;
let progress: number;

beforeEach(() => {
  workbench.reset('/project');
  server = new ScriptedServer();
  server.answers[methods.suspects] = report;
  model = new Model(server.server);
  changes = progress = 0;
  model.onDidChange(() => (changes += 1));
  model.onDidProgress(() => (progress += 1));
});
afterEach(() => {
  model.dispose();
});

/** A report that comes when the test lets it. */
function later(): (answer: Suspects) => void {
  let answer: (report: Suspects) => void = () => undefined;
  server.answers[methods.suspects] = () => new Promise((resolve) => (answer = resolve));
  return (report) => {
    answer(report);
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('fetches the suspects of a ranking, and says how hot each is', async () => {
  const cold = { ...suspect, line: 30, endLine: 30, score: 0.1 };
  server.answers[methods.suspects] = { ...report, suspects: [suspect, cold] };
  server.changed.fire(status);
  await settled();
  expect(model.condition).toEqual(status);
  expect(model.suspects.map((one) => model.heatOf(one))).toEqual([5, 1]);
  expect(changes).toBe(1);
});

it('fetches nothing when an investigation only made progress', async () => {
  const investigation = { runs: 1, test: 'test_a', share: 0.1, found: '' };
  server.changed.fire({ ...status, investigation });
  await settled();
  expect([server.calls.length, progress]).toEqual([1, 0]);
  server.changed.fire({ ...status, investigation: { ...investigation, runs: 9 } });
  await settled();
  expect([server.calls.length, progress]).toEqual([1, 1]);
  server.changed.fire({ ...status, investigation: { ...investigation, runs: 9 } }); // something was found
  server.changed.fire(status);
  await settled();
  expect(server.calls.length).toBeGreaterThan(1);
});

it('finds the suspect on a line, counted from 0', async () => {
  server.changed.fire(status);
  await settled();
  expect([10, 11, 12, 13].map((line) => model.at(suspect.uri, line)?.line)).toEqual([undefined, 12, 12, undefined]);
  expect(model.at('file:///project/other.py', 11)).toBeUndefined();
});

it('asks once more for all that changes during a request', async () => {
  const answer = later();
  server.changed.fire(status);
  await settled();
  server.changed.fire({ ...status, state: 'stale' });
  server.changed.fire(status);
  expect(server.calls).toHaveLength(1);
  answer(report);
  await settled();
  expect(server.calls).toHaveLength(2);
  answer({ ...report, suspects: [] });
  await settled();
  expect(server.calls).toHaveLength(2);
  expect(model.suspects).toEqual([]);
});

it('asks again after a request that failed', async () => {
  server.answers[methods.suspects] = () => Promise.reject(new Error('the connection is closed'));
  server.changed.fire(status);
  await settled();
  expect(workbench.log).toEqual(['Error: the connection is closed']);
  server.answers[methods.suspects] = report;
  server.changed.fire(status);
  await settled();
  expect(model.suspects).toEqual([suspect]);
});

it('drops the suspects of a server that is gone, also those that come late', async () => {
  const answer = later();
  server.changed.fire(status);
  await settled();
  server.changed.fire({ state: 'noServer', problem: 'it is gone', cure: 'start it' });
  answer(report);
  await settled();
  expect(model.report).toBeUndefined();
  expect(changes).toBe(1);
});

it('keeps the suspects while tests run, and tells progress apart from changes', async () => {
  server.changed.fire(status);
  await settled();
  const running = { ...status, state: 'runningTests' } as const;
  server.changed.fire(running);
  server.changed.fire({ ...running, progress: { done: 1, failed: 0, total: 9, onSave: false } });
  server.changed.fire({ ...status, state: 'ranking' });
  expect([changes, progress]).toEqual([3, 1]);
  expect(model.suspects).toEqual([suspect]);
  expect(server.calls).toHaveLength(1);
});

it('fetches the suspects while tests run, each time they have been ranked anew', async () => {
  const running = { ...status, state: 'runningTests' } as const;
  server.changed.fire(running);
  server.changed.fire({ ...running, progress: { done: 1, failed: 1, total: 9, onSave: true } });
  expect(server.calls).toHaveLength(0);
  server.changed.fire({ ...running, failed: 2 });
  await settled();
  expect(server.calls).toHaveLength(1);
  expect(model.suspects).toEqual([suspect]);
});

it('names the folder of each suspect where there are several', async () => {
  workbench.reset('/project', '/bank');
  server.changed.fire(status);
  await settled();
  expect(model.suspects).toMatchObject([{ folder: 'project', file: 'project/shop/cart.py' }]);
});

it('listens to nobody once it is disposed of', () => {
  model.dispose();
  expect(server.changed.listeners.size).toBe(0);
});
