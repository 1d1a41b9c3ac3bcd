// The real server, in the environment of this repository, with the real client library.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';

import { version } from '../package.json';
import { Server } from '../src/client';
import type { Condition } from '../src/messages';
import { methods, serverCommands, type Suspects } from '../src/protocol';
import { defined } from './samples';
import { workbench } from './standins/workbench';

const PYTHON = join(import.meta.dirname, '../../.venv/bin/python');
const SOON = { timeout: 30_000, interval: 20 };

let folder: string;
let server: Server;
let conditions: Condition[];
const states = () => conditions.map(({ state }) => state);
const soon = (state: Condition['state']) =>
  vi.waitFor(() => {
    expect(states().at(-1)).toBe(state);
  }, SOON);

/** A Python that notes its process, then does what the words after it say. */
function interpreter(script = 'exec "$PYTHON" "$@"'): string {
  const file = join(folder, 'python');
  writeFileSync(file, `#!/bin/sh\nPYTHON='${PYTHON}'\necho $$ >>'${folder}/processes'\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const processes = () => readFileSync(join(folder, 'processes'), 'utf8').trim().split('\n').map(Number);

function alive(process_: number): boolean {
  try {
    return process.kill(process_, 0);
  } catch {
    return false;
  }
}

function make(): Server {
  const home = { folder, storage: join(folder, 'storage'), version };
  const made = new Server(home, workbench.output as unknown as vscode.LogOutputChannel);
  conditions = [];
  made.onDidChange((condition) => conditions.push(condition));
  return made;
}

beforeAll(() => {
  if (!existsSync(PYTHON)) {
    throw new Error('these tests start the server of this repository. Run: make setup');
  }
});

describe('a server that runs', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'suspectra-'));
    workbench.reset(folder);
    workbench.settings['suspectra.interpreter'] = [interpreter()];
    workbench.settings['suspectra.testCommand'] = ['pytest', '-x'];
    workbench.python = PYTHON;
    server = make();
    void server.restart();
    await soon('noEvidence');
  }, 30_000);
  afterAll(async () => {
    await server.dispose();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    conditions = [];
  });

  it('answers requests', async () => {
    const report = await server.request<Suspects>(methods.suspects, {});
    expect(report).toMatchObject({ state: 'noEvidence', suspects: [] });
  });

  it('is given the settings of the editor, and the environment selected there', async () => {
    const { commandLine } = await server.request<{ commandLine: string }>(methods.commandLine, {});
    expect(commandLine).toContain(`record --python ${PYTHON} -- pytest -x`);
  });

  it('reports the result of each command', async () => {
    const done: unknown[] = [];
    const listener = server.onDidExecute((one) => done.push(one));
    expect(await server.command(serverCommands.selectTechnique, 'dstar')).toBe('dstar');
    listener.dispose();
    expect(done).toEqual([{ command: serverCommands.selectTechnique, result: 'dstar' }]);
  });

  it('rejects what it can not do, and goes on', async () => {
    await expect(server.command(serverCommands.runTests, ['file:///elsewhere'])).rejects.toThrow(
      'None of these is a folder of the workspace.',
    );
    expect(await server.command(serverCommands.nextSuspect, null)).toBeNull();
  });

  it('is started again after a crash, and what is asked meanwhile waits for it', async () => {
    const crashed = defined(processes().at(-1));
    process.kill(crashed, 'SIGKILL');
    await vi.waitFor(() => {
      expect(states()).toContain('starting');
    }, SOON);
    await soon('noEvidence');
    expect(await server.request<Suspects>(methods.suspects, {})).toMatchObject({ technique: 'evidence' });
    expect(processes().at(-1)).not.toBe(crashed);
    expect(workbench.log).toContain('The server ended unexpectedly; it is started again in 0 seconds');
  });

  it('is stopped before it is started again', async () => {
    const old = defined(processes().at(-1));
    await server.restart();
    expect(processes().at(-1)).not.toBe(old);
    expect(await server.request<Suspects>(methods.suspects, {})).toMatchObject({ technique: 'evidence' });
    await vi.waitFor(() => {
      expect(alive(old)).toBe(false);
    }, SOON);
  });

  it('is stopped when its last folder goes', async () => {
    const old = defined(processes().at(-1));
    workbench.workspace.workspaceFolders = [];
    await server.restart();
    expect(states().at(-1)).toBe('noFolder');
    await vi.waitFor(() => {
      expect(alive(old)).toBe(false);
    }, SOON);
    await expect(server.request(methods.suspects, {})).rejects.toThrow('The Suspectra server is not running.');
  });
});

describe('a server that can not run', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'suspectra-'));
    workbench.reset(folder);
    server = make();
  });
  afterEach(async () => {
    await server.dispose();
    rmSync(folder, { recursive: true });
  });

  it('has no Python', async () => {
    workbench.settings['suspectra.interpreter'] = [join(folder, 'nowhere')];
    await server.restart();
    expect(conditions).toEqual([
      { state: 'starting' },
      {
        state: 'noServer',
        problem: `${folder}/nowhere does not start`,
        cure: 'Install Python 3.10 or newer, select it, or set suspectra.interpreter to one',
      },
    ]);
    expect(workbench.log).toContain(`${folder}/nowhere (the setting suspectra.interpreter): not found`);
    expect(workbench.errors).toEqual([]);
  });

  it('says so once to whom wants notifications', async () => {
    workbench.settings['suspectra.interpreter'] = [join(folder, 'nowhere')];
    workbench.settings['suspectra.showNotifications'] = 'onError';
    await server.restart();
    await server.restart();
    expect(workbench.errors).toEqual([expect.stringMatching(/^Suspectra: .* does not start\. Fix: Install Python/)]);
  });

  it('ended at once', async () => {
    const fails = 'case "$*" in *suspectra_server) exit 3;; *) exec "$PYTHON" "$@";; esac';
    workbench.settings['suspectra.interpreter'] = [interpreter(fails)];
    await server.restart();
    expect(conditions.at(-1)).toEqual({
      state: 'noServer',
      problem: 'The server did not start',
      cure: 'See the output “Suspectra” for the details',
    });
    await expect(server.request(methods.suspects, {})).rejects.toThrow('The Suspectra server is not running.');
  });
});
