import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { isRecording, withoutVariables, withVariables } from '../src/environment/envFile';
import { methods } from '../src/protocol';
import { TestingView } from '../src/testing/testingView';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

const environment = { PYTHONPATH: '/recorder', SUSPECTRA_WORKSPACE: '/project', SUSPECTRA_PYTHON: '/bin/python' };

describe('the variables in the file', () => {
  const texts = ['', 'A=1\n', 'A=1', 'A=1\n\n', 'A=1\r\nPYTHONPATH=src\r\n', '# a comment\nexport B=2\n'];

  it.each(texts)('come and go: %j', (text) => {
    const recording = withVariables(text, environment, ':');
    expect([isRecording(text), isRecording(recording)]).toEqual([false, true]);
    expect(recording.startsWith(text)).toBe(true);
    expect(withoutVariables(recording).trimEnd()).toBe(text.trimEnd());
    expect(withVariables(recording, environment, ':')).toBe(recording);
  });

  it('leave what is written after them', () => {
    const text = `${withVariables('A=1\n', environment, ':')}B=2\n`;
    expect(withoutVariables(text)).toBe('A=1\nB=2\n');
  });

  it('keep the folders that the file names itself', () => {
    expect(withVariables('PYTHONPATH=src\n', environment, ':')).toContain('\nPYTHONPATH=/recorder:${PYTHONPATH}\n');
    expect(withVariables('# no PYTHONPATH=\n', environment, ':')).toContain('\nPYTHONPATH=/recorder\n');
  });
});

let server: ScriptedServer;
let view: TestingView;
let folder: string;
const file = () => readFileSync(join(folder, '.env'), 'utf8');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'suspectra-'));
  workbench.reset(folder);
  workbench.python = '/bin/python';
  server = new ScriptedServer();
  server.answers[methods.commandLine] = { commandLine: 'suspectra record -- pytest', environment };
  view = new TestingView(server.server);
});
afterEach(() => view.dispose());

it('asks first, says what it changes, and takes it back', async () => {
  writeFileSync(join(folder, '.env'), 'A=1\n');
  await view.change();
  expect(file()).toBe('A=1\n');
  workbench.answer = 'Record';
  await view.change();
  expect(file()).toBe(withVariables('A=1\n', environment, delimiter));
  workbench.answer = 'Stop Recording';
  await view.change();
  expect(file()).toBe('A=1\n');
  expect(workbench.informed).toHaveLength(3);
  for (const name of [...Object.keys(environment), join(folder, '.env'), 'do not commit']) {
    expect(workbench.details[0]).toContain(name);
  }
});

it('takes the file that the Python extension reads', async () => {
  workbench.settings['python.envFile'] = '${workspaceFolder}/test.env';
  workbench.answer = 'Record';
  await view.change();
  expect(isRecording(readFileSync(join(folder, 'test.env'), 'utf8'))).toBe(true);
});

it('changes nothing without that extension, or where the folder is not trusted', async () => {
  workbench.answer = 'Record';
  workbench.workspace.isTrusted = false;
  await view.change();
  workbench.workspace.isTrusted = true;
  workbench.python = undefined;
  await view.change();
  expect(workbench.informed).toEqual([expect.stringContaining('not installed')]);
  expect(file).toThrow('ENOENT');
});

it('names the recorder of each server', async () => {
  writeFileSync(join(folder, '.env'), withVariables('A=1\n', { ...environment, PYTHONPATH: '/old' }, delimiter));
  server.changed.fire(status);
  await vi.waitFor(() => expect(file()).toContain('/recorder'));
  expect(file()).not.toContain('/old');
  server.changed.fire(status);
  expect(server.calls).toHaveLength(1);
});

it('leaves a file alone that does not record', async () => {
  writeFileSync(join(folder, '.env'), 'A=1\n');
  server.changed.fire(status);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([file(), server.calls]).toEqual(['A=1\n', []]);
});
