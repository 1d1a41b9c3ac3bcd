// Real Pythons, real venv, real pip: the wheel is a small one made here, which needs nothing, so no index is asked.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  addPartsForC,
  createEnvironment,
  findEnvironment,
  InstallationError,
  wheelIn,
} from '../src/environment/privateEnvironment';
import { ask, type NotFound } from '../src/environment/python';
import { rememberStorage, removeEnvironments } from '../src/environment/storage';

const WHEEL = `
import sys, zipfile
name, requirement = sys.argv[1:]
meta = "Metadata-Version: 2.1\\nName: suspectra\\nVersion: 0.1.0\\n" + (f"Requires-Dist: {requirement}\\n" if requirement else "")
info = "suspectra-0.1.0.dist-info/"
files = {
    "suspectra_server/__init__.py": "",
    "suspectra_server/server.py": "",
    "suspectra/c/recorder.c": "",
    "numpy/core.h": "",
    info + "METADATA": meta,
    info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: a test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
files[info + "RECORD"] = "".join(f"{file},,\\n" for file in [*files, info + "RECORD"])
with zipfile.ZipFile(name, "w") as wheel:
    for file, text in files.items():
        wheel.writestr(file, text)
`;

let folder: string;
let base: NonNullable<NotFound['base']>;
const logged: string[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'suspectra-'));
  mkdirSync(join(folder, 'bundled'));
  logged.length = 0;
  const interpreter = { command: 'python3', args: [], origin: 'a test' };
  const answer = await ask(interpreter, folder);
  if ('failure' in answer) {
    throw new Error(`these tests need python3: ${answer.failure}`);
  }
  base = { interpreter, python: answer.python, executable: answer.executable ?? '' };
});
afterEach(() => rmSync(folder, { recursive: true }));

function wheel(requirement = ''): string {
  const file = join(folder, 'bundled', 'suspectra-0.1.0-py3-none-any.whl');
  execFileSync('python3', ['-c', WHEEL, file, requirement]);
  return file;
}

function making(file: string, signal = new AbortController().signal) {
  return {
    base,
    wheel: file,
    storage: join(folder, 'storage'),
    cwd: folder,
    signal,
    log: (line: string) => logged.push(line),
  };
}

const left = () => (existsSync(join(folder, 'storage')) ? readdirSync(join(folder, 'storage')) : []);

async function failure(promise: Promise<unknown>): Promise<InstallationError> {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InstallationError);
  return error as InstallationError;
}

/** Do something while no index answers. */
async function offline(work: () => Promise<void>): Promise<void> {
  vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple');
  vi.stubEnv('PIP_NO_CACHE_DIR', '1');
  try {
    await work();
  } finally {
    vi.unstubAllEnvs();
  }
}

describe('a private environment', () => {
  // one story, since making an environment takes long
  it('is made once, works, is found again while it works, and makes room', { timeout: 180_000 }, async () => {
    const how = making(wheel());
    expect(wheelIn(join(folder, 'bundled'))).toBe(how.wheel);
    expect(await findEnvironment(how)).toBeUndefined();
    const old = join(how.storage, 'server-0.0.9-old');
    const unfinished = join(how.storage, 'unfinished-old');
    const used = join(how.storage, 'server-0.0.9-used');
    for (const one of [old, unfinished, used]) {
      mkdirSync(one, { recursive: true });
    }
    const longAgo = new Date(Date.now() - 40 * 24 * 60 * 60 * 1000);
    utimesSync(old, longAgo, longAgo);
    utimesSync(unfinished, longAgo, longAgo);

    const made = await createEnvironment(how);

    // what was not used for long has gone
    const own: unknown = expect.stringMatching(/^server-0\.1\.0-/);
    expect(left().sort()).toEqual(['server-0.0.9-used', own]);
    expect(await ask(made, folder)).toMatchObject({ python: base.python, suspectra: '0.1.0' });
    expect(await findEnvironment(how)).toEqual(made);
    expect(logged.join('\n')).toContain('suspectra-0.1.0');

    // another wheel of the same version, and another Python, get environments of their own
    const { wheel: file } = how;
    const content = readFileSync(file);
    writeFileSync(file, content.subarray(1));
    expect(await findEnvironment(how)).toBeUndefined();
    expect(await findEnvironment({ ...how, base: { ...base, executable: '/another/python' } })).toBeUndefined();

    // one that no longer works is not used, and goes
    writeFileSync(file, content);
    rmSync(made.command);
    expect(await findEnvironment(how)).toBeUndefined();
    expect(left()).toEqual(['server-0.0.9-used']);
  });

  it('leaves nothing when the index can not be reached, and says what to do', { timeout: 180_000 }, async () => {
    await offline(async () => {
      const { problem, cure } = await failure(createEnvironment(making(wheel('a-package-that-is-not-there'))));
      expect(problem).toBe('What the server needs could not be downloaded from the package index');
      expect(cure).toContain('Go online');
      expect(cure).toContain('Restart Server');
    });
    expect(left()).toEqual([]);
  });

  it('is small, gets parts for C when they are needed, and goes with the extension', { timeout: 180_000 }, async () => {
    await offline(async () => {
      const how = making(wheel('gcovr>=8.2,<9'));
      const made = await createEnvironment(how); // without gcovr, or it would fail
      const files = readdirSync(how.storage, { recursive: true }).map(String);
      expect(files.some((file) => file.endsWith('pip/__init__.py'))).toBe(true);
      expect(files.filter((file) => /\/setuptools\/|pip\/.*\.pyc$|numpy\/.*\.h$/.test(file))).toEqual([]);
      expect(files.some((file) => file.endsWith('suspectra/c/recorder.c'))).toBe(true); // recordings of C compile it
      expect(logged.filter((line) => line.includes('ERROR'))).toEqual([]);
      const { problem } = await failure(addPartsForC(made, how));
      expect(problem).toBe('What the server needs could not be downloaded from the package index');
      const packages = join(made.command, '..', '..', 'lib');
      const [python = ''] = readdirSync(packages);
      writeFileSync(join(packages, python, 'site-packages', 'gcovr.py'), '');
      await addPartsForC(made, how); // nothing is missing
    });
    mkdirSync(join(folder, 'storage', 'of-somebody-else'));
    rememberStorage(folder, join(folder, 'storage'));
    removeEnvironments(folder);
    expect(left()).toEqual(['of-somebody-else']);
    removeEnvironments(join(folder, 'bundled')); // an extension that made none
  });

  it('leaves nothing when it is cancelled', { timeout: 180_000 }, async () => {
    const cancelled = new AbortController();
    const how = making(wheel(), cancelled.signal);
    const promise = failure(createEnvironment(how));
    while (!left().some((name) => readdirSync(join(how.storage, name)).length)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    cancelled.abort();
    expect((await promise).problem).toBe('The installation of the server was cancelled');
    expect(left()).toEqual([]);
  });

  it('tells of a Python without venv', async () => {
    const command = join(folder, 'python');
    writeFileSync(command, '#!/bin/sh\necho "ensurepip is not available: apt install python3.12-venv" >&2\nexit 1\n');
    chmodSync(command, 0o755);
    base = { ...base, interpreter: { command, args: [], origin: 'a test' } };
    const { problem, cure } = await failure(createEnvironment(making(wheel())));
    expect(problem).toBe(`${command} cannot make an environment for the server`);
    expect(cure).toContain('apt install python3-venv');
    expect(left()).toEqual([]);
  });

  it('is not kept when the server does not start in it', { timeout: 180_000 }, async () => {
    const file = wheel();
    execFileSync('python3', [
      '-c',
      'import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], "a") as wheel: wheel.writestr("suspectra_server/server/__init__.py", "import not_there")',
      file,
    ]);
    const { problem } = await failure(createEnvironment(making(file)));
    expect(problem).toContain("No module named 'not_there'");
    expect(left()).toEqual([]);
  });
});

it('a folder without a wheel has none', () => {
  expect(wheelIn(join(folder, 'nowhere'))).toBeUndefined();
  expect(wheelIn(join(folder, 'bundled'))).toBeUndefined();
});
