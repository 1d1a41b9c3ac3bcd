import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  type Answer,
  ask,
  candidates,
  compatible,
  type Interpreter,
  interpreterSetting,
  search,
  type InterpreterSearch,
  type Wanted,
} from '../src/environment/python';

const basis: InterpreterSearch = {
  setting: [],
  active: undefined,
  folders: ['/project'],
  trusted: true,
  platform: 'linux',
};
const commands = (change: Partial<InterpreterSearch>) =>
  candidates({ ...basis, ...change }).map(({ command }) => command);

describe('candidates', () => {
  it('come from the folder, then from the PATH', () => {
    expect(commands({})).toEqual(['/project/.venv/bin/python', '/project/venv/bin/python', 'python3', 'python']);
  });

  it('begin with the environment of the Python extension', () => {
    expect(commands({ active: '/envs/a/bin/python' })[0]).toBe('/envs/a/bin/python');
  });

  it('are the setting alone where there is one, with its variables filled in', () => {
    expect(candidates({ ...basis, setting: ['${workspaceFolder}/py', '-X', 'utf8'] })).toEqual([
      { command: '/project/py', args: ['-X', 'utf8'], origin: 'the setting suspectra.interpreter' },
    ]);
    expect(commands({ setting: ['~/bin/python'] })).toEqual([`${homedir()}/bin/python`]);
  });

  it('never come from an untrusted workspace', () => {
    expect(commands({ trusted: false, active: '/project/.venv/bin/python' })).toEqual(['python3', 'python']);
  });

  it('follow every folder of a multi-root workspace', () => {
    expect(commands({ folders: ['/a', '/b'] })).toContain('/b/venv/bin/python');
  });

  it('are named as Windows names them', () => {
    expect(commands({ platform: 'win32', folders: ['C:\\project'] })).toEqual([
      'C:\\project\\.venv\\Scripts\\python.exe',
      'C:\\project\\venv\\Scripts\\python.exe',
      'python',
      'python3',
    ]);
  });
});

describe('the setting', () => {
  const read = (value: unknown) => {
    const complaints: string[] = [];
    return [interpreterSetting(value, (problem) => complaints.push(problem)), complaints.length];
  };

  it('may be absent, a list, or by mistake a string', () => {
    expect(read(undefined)).toEqual([[], 0]);
    expect(read(['/py', '-X', 'utf8'])).toEqual([['/py', '-X', 'utf8'], 0]);
    expect(read('/py')).toEqual([['/py'], 0]);
    expect(read('')).toEqual([[], 0]);
  });

  it('is complained of and passed over when it can be no command', () => {
    for (const value of [7, true, {}, [1], ['/py', null]]) {
      expect(read(value)).toEqual([[], 1]);
    }
  });
});

describe('search', () => {
  const named = (command: string): Interpreter => ({ command, args: [], origin: 'a test' });
  const among = (answers: Record<string, Answer>, wanted: Partial<Wanted> = {}) =>
    search(
      Object.keys(answers).map(named),
      { version: '0.1.0', wheels: '/extension/bundled', fromEnvironment: true, ...wanted },
      ({ command }) => Promise.resolve(answers[command] ?? { failure: 'not asked' }),
    );

  it('takes the first that is new enough and has Suspectra', async () => {
    const result = await among({
      gone: { failure: 'not found' },
      old: { python: '3.9.20', suspectra: '0.1.0' },
      bare: { python: '3.12.1', suspectra: undefined },
      good: { python: '3.10.0', suspectra: '0.1.0' },
      other: { python: '3.13.0', suspectra: '0.1.0' },
    });
    expect(result).toMatchObject({ found: { command: 'good' }, python: '3.10.0', suspectra: '0.1.0' });
    expect(result.tried).toEqual([
      'gone (a test): not found',
      'old (a test): Python 3.9.20, too old, Suspectra 0.1.0',
      'bare (a test): Python 3.12.1, no Suspectra',
      'good (a test): Python 3.10.0, Suspectra 0.1.0',
    ]);
  });

  it('names the command that installs Suspectra', async () => {
    const result = await among({
      old: { python: '2.7.18', suspectra: undefined },
      bare: { python: '3.14.0', suspectra: undefined },
    });
    expect(result).toMatchObject({
      problem: 'Suspectra is not installed in bare',
      cure: 'bare -m pip install --find-links "/extension/bundled" suspectra==0.1.0',
    });
  });

  it('offers the first Python that is new enough as a base, with its own executable', async () => {
    const result = await among({
      old: { python: '3.8.18', suspectra: undefined },
      bare: { python: '3.12.1', suspectra: undefined, executable: '/usr/bin/python3.12' },
      other: { python: '3.13.0', suspectra: undefined },
    });
    expect(result).toMatchObject({
      base: { interpreter: { command: 'bare' }, python: '3.12.1', executable: '/usr/bin/python3.12' },
    });
  });

  it('passes over a Suspectra that speaks another protocol', async () => {
    const result = await among({ env: { python: '3.12.1', suspectra: '0.7.2' } });
    expect(result).toMatchObject({
      problem: 'The Suspectra 0.7.2 of env does not go with version 0.1.0 of the extension',
      cure: 'env -m pip install --find-links "/extension/bundled" suspectra==0.1.0',
      base: { interpreter: { command: 'env' } },
    });
    expect(['0.1.0', '0.1.9', '0.2.0', '1.0.0'].map((version) => compatible(version, '0.1.4'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(['1.0.0', '1.9.3', '2.0.0'].map((version) => compatible(version, '1.2.0'))).toEqual([true, true, false]);
  });

  it('passes over every environment where the bundled server is wanted', async () => {
    const result = await among({ env: { python: '3.12.1', suspectra: '0.1.0' } }, { fromEnvironment: false });
    expect(result).toMatchObject({ base: { interpreter: { command: 'env' } } });
  });

  it('says when all are too old', async () => {
    expect(await among({ old: { python: '3.9.1', suspectra: '0.1.0' } })).toMatchObject({
      problem: 'old is Python 3.9.1; Suspectra needs 3.10 or newer',
    });
  });

  it('says when there is none', async () => {
    expect(await among({ python3: { failure: 'not found' }, python: { failure: 'not found' } })).toMatchObject({
      problem: 'No Python was found',
    });
    expect(await among({ '/my env/python': { failure: 'not found' } })).toMatchObject({
      problem: '"/my env/python" does not start',
    });
  });
});

describe('ask, of real programs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'suspectra-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const script = (text: string): Interpreter => {
    const command = join(folder, 'python');
    writeFileSync(command, `#!/bin/sh\n${text}\n`);
    chmodSync(command, 0o755);
    return { command, args: [], origin: 'a test' };
  };

  it('tells the version of Python, and that isolated Python 3 without site packages has no Suspectra', async () => {
    const answer = await ask({ command: 'python3', args: ['-I', '-S'], origin: 'a test' }, folder);
    expect(answer).toEqual({
      python: expect.stringMatching(/^3\.\d+\.\d+$/) as unknown,
      suspectra: undefined,
      executable: expect.stringContaining('python') as unknown,
    });
  });

  it('understands one that is far too old', async () => {
    expect(await ask(script('echo "2.7.18 "'), folder)).toEqual({ python: '2.7.18', suspectra: undefined });
  });

  it('tells what is not there', async () => {
    expect(await ask({ command: join(folder, 'none'), args: [], origin: '' }, folder)).toEqual({
      failure: 'not found',
    });
  });

  it('tells what a broken one said last', async () => {
    expect(await ask(script('echo first >&2; echo broken >&2; exit 3'), folder)).toEqual({ failure: 'broken' });
    expect(await ask(script('echo hello'), folder)).toEqual({ failure: 'gave no version' });
  });
});
