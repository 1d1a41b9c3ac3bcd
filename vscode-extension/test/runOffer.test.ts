import { afterEach, beforeEach, expect, it } from 'vitest';
import type * as vscode from 'vscode';

import { Model } from '../src/model';
import { methods } from '../src/protocol';
import { ANSWER_RUN_OFFER, RunOffer } from '../src/testing/runOffer';
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

/** The user answers the offer. */
async function reply(answer: string | undefined): Promise<void> {
  workbench.answer = answer;
  await workbench.commands.executeCommand(ANSWER_RUN_OFFER);
}

it('is open from the first failing run of Python on, in all windows, until it is answered', async () => {
  await run(0);
  await run(1, false, true);
  expect(offer.open).toBe(false);
  await run(2);
  expect(offer.open).toBe(true);
  close();
  open();
  expect(offer.open).toBe(true);
  await reply(undefined);
  expect(offer.open).toBe(true);
  await reply('No');
  await run(2);
  expect(offer.open).toBe(false);
  expect(workbench.user).toEqual({});
  close();
  open();
  await run(2);
  expect(offer.open).toBe(false);
});

it.each([
  ['On Save', 'onSave'],
  ['When I Stop Typing', 'onIdle'],
])('sets for the user, and not in the workspace, what is picked: %s', async (answer, value) => {
  await run(1);
  await reply(answer);
  expect(workbench.user).toEqual({ 'suspectra.run': value });
  expect(workbench.written).toEqual({});
  expect(offer.open).toBe(false);
});

it('is not made to those who have chosen, nor after a run that they did not start', async () => {
  server.changed.fire(status); // what was recorded before
  await run(1, true);
  expect(offer.open).toBe(false);
  workbench.user = { 'suspectra.run': 'manual' };
  await run(1);
  expect(offer.open).toBe(false);
});

it('is made even where a workspace says when its tests run', async () => {
  workbench.written = { 'suspectra.run': 'onSave' };
  await run(1);
  expect(offer.open).toBe(true);
});
