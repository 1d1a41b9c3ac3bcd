import { afterEach, beforeEach, expect, it } from 'vitest';
import type * as vscode from 'vscode';

import { Model } from '../src/model';
import { methods } from '../src/protocol';
import { RunOffer } from '../src/testing/runOffer';
import { report } from './samples';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

let server: ScriptedServer;
let model: Model;
let offer: RunOffer;
let memory: Map<string, unknown>;

beforeEach(() => {
  workbench.reset('/project');
  memory = new Map();
  open();
});
afterEach(close);

function open(): void {
  server = new ScriptedServer();
  server.answers[methods.suspects] = report;
  model = new Model(server.server);
  const memento = {
    get: (key: string) => memory.get(key),
    update: (key: string, value: unknown) => Promise.resolve(void memory.set(key, value)),
  };
  offer = new RunOffer(model, memento as unknown as vscode.Memento);
}

function close(): void {
  offer.dispose();
  model.dispose();
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A run that the user started, or a save, with the number of failing tests at its end. */
async function run(failed: number, onSave = false, compiled = false): Promise<void> {
  server.changed.fire({ ...status, state: 'runningTests', progress: { done: 0, failed: 0, total: 0, onSave } });
  server.changed.fire({ ...status, failed, compiled });
  await settled();
}

it('offers the setting after the first failing run of Python, and once for all windows', async () => {
  await run(0);
  await run(1, false, true);
  expect(workbench.informed).toEqual([]);
  await run(2);
  await run(2);
  expect(workbench.informed).toEqual(['Rerun failing and affected tests automatically?']);
  expect(workbench.user).toEqual({});
  close();
  open();
  await run(2);
  expect(workbench.informed).toHaveLength(1);
});

it.each([
  ['On Save', 'onSave'],
  ['When I Stop Typing', 'onIdle'],
])('sets for the user, and not in the workspace, what is picked: %s', async (answer, value) => {
  workbench.answer = answer;
  await run(1);
  expect(workbench.user).toEqual({ 'suspectra.run': value });
  expect(workbench.written).toEqual({});
});

it('offers nothing to those who have chosen, nor after a run that they did not start', async () => {
  server.changed.fire(status); // what was recorded before
  await run(1, true);
  workbench.user = { 'suspectra.run': 'manual' };
  await run(1);
  expect(workbench.informed).toEqual([]);
});

it('asks the user even where a workspace says when its tests run', async () => {
  workbench.written = { 'suspectra.run': 'onSave' };
  await run(1);
  expect(workbench.informed).toHaveLength(1);
});
