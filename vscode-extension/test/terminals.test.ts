import { delimiter } from 'node:path';

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';

import { methods } from '../src/protocol';
import { Terminals } from '../src/environment/terminals';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

const environment = { PYTHONPATH: '/recorder', SUSPECTRA_WORKSPACE: '/project', SUSPECTRA_PYTHON: '/bin/python' };

/** The variables of one folder, as VS Code keeps them. */
class Variables {
  persistent = true;
  description = '';
  cleared = 0;
  readonly all = new Map<string, string>();
  prepend = (name: string, value: string) => this.all.set(name, `${value}<before>`);
  replace = (name: string, value: string) => this.all.set(name, value);
  clear = () => {
    this.cleared += 1;
    this.all.clear();
  };
  getScoped = () => this;
}

let server: ScriptedServer;
let variables: Variables;
let terminals: Terminals | undefined;

const start = () => {
  terminals = new Terminals(server.server, variables as unknown as vscode.GlobalEnvironmentVariableCollection);
};
const choose = (wanted: boolean) => {
  workbench.settings['suspectra.recordTerminals'] = wanted;
  workbench.configured.fire({ affectsConfiguration: (name) => name === 'suspectra.recordTerminals' });
};

beforeEach(() => {
  workbench.reset('/project');
  server = new ScriptedServer();
  server.answers[methods.commandLine] = { commandLine: 'suspectra record -- pytest', environment };
  variables = new Variables();
});
afterEach(() => terminals?.dispose());

it('leaves terminals alone until the setting is on, and again when it is off', async () => {
  start();
  server.changed.fire(status);
  await Promise.resolve();
  expect([variables.all.size, variables.cleared, server.calls]).toEqual([0, 0, []]);
  choose(true);
  await vi.waitFor(() => expect(variables.all.size).toBe(3));
  expect(Object.fromEntries(variables.all)).toEqual({ ...environment, PYTHONPATH: `/recorder${delimiter}<before>` });
  choose(false);
  await vi.waitFor(() => expect(variables.all.size).toBe(0));
});

it('says what it changes, and keeps nothing for the next session', async () => {
  workbench.settings['suspectra.recordTerminals'] = true;
  start();
  await vi.waitFor(() => expect(variables.all.size).toBe(3));
  for (const name of [...Object.keys(environment), 'suspectra.recordTerminals']) {
    expect(variables.description).toContain(name);
  }
  expect(variables.persistent).toBe(false);
});

it('changes terminals again only if the recorder is another one', async () => {
  workbench.settings['suspectra.recordTerminals'] = true;
  start();
  await vi.waitFor(() => expect(variables.all.size).toBe(3));
  server.changed.fire(status);
  server.changed.fire(status);
  expect(server.calls.length).toBe(1);
  server.changed.fire({ ...status, state: 'starting' });
  server.changed.fire(status);
  await vi.waitFor(() => expect(server.calls.length).toBe(2));
  expect(variables.cleared).toBe(1);
  server.answers[methods.commandLine] = { commandLine: '', environment: { ...environment, PYTHONPATH: '/other' } };
  server.changed.fire({ ...status, state: 'starting' });
  server.changed.fire(status);
  await vi.waitFor(() => expect(variables.all.get('PYTHONPATH')).toContain('/other'));
});

it('asks again when a server that did not run is there', async () => {
  workbench.settings['suspectra.recordTerminals'] = true;
  server.answers[methods.commandLine] = () => Promise.reject(new Error('no server'));
  start();
  await vi.waitFor(() => expect(server.calls.length).toBe(1));
  server.answers[methods.commandLine] = { commandLine: '', environment };
  await vi.waitFor(() => {
    server.changed.fire(status);
    expect(variables.all.size).toBe(3);
  });
});

it('changes nothing in a workspace that is not trusted', async () => {
  workbench.settings['suspectra.recordTerminals'] = true;
  vi.spyOn(vscode.workspace, 'isTrusted', 'get').mockReturnValue(false);
  start();
  await Promise.resolve();
  expect([variables.all.size, server.calls]).toEqual([0, []]);
});
