/**
 * The private environment for the server. It is made from the bundled wheels if no environment of the user has
 * Suspectra. Knows nothing of VS Code.
 *
 * An environment is built under a temporary name and renamed when it is complete, so one with a final name works.
 * Workspaces with the same Python share it, and it is removed when it is no longer used. What only C programs need is
 * added when it is needed.
 */

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import * as path from 'node:path';
import { promisify } from 'node:util';

import { t } from '../l10n';
import { ask, type Interpreter, type NotFound, shown } from './python';
import { PREFIX, UNFINISHED_PREFIX } from './storage';

const MAX_UNUSED_DAYS = 30;
const MAX_UNFINISHED_DAYS = 1; // older ones are of installations that were killed
const DAY = 24 * 60 * 60 * 1000;
const PIP = ['-I', '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--retries', '2'];
// no conflicts: what only C needs is left out on purpose, which pip would call an error
const INSTALL = [...PIP, '--timeout', '20', '--prefer-binary', '--no-compile', '--no-warn-conflicts'];

// What the server needs besides the bundled wheels: for all programs, or else for those of C, of which it is a third.
const REQUIREMENTS = `
import re, sys
from importlib.metadata import requires
for line in requires("suspectra") or ():
    if "extra ==" not in line and (re.match(r"gcovr\\b", line) is not None) == (sys.argv[1] == "c"):
        print(line)
`;

// Two thirds of an environment are tests of numpy and scipy, compiled modules that are never imported, parts of scipy that
// the server does not use (tests/server/test_private_environment.py), and what only compilers and type checkers read.
// Sources in C of Suspectra itself stay: recordings of C compile them.
const TRIM = `
import pathlib, shutil, sysconfig
parts = """cluster constants datasets differentiate fft fftpack integrate interpolate io ndimage odr optimize signal
    spatial stats""".split()
for scheme in ("purelib", "platlib"):
    packages = pathlib.Path(sysconfig.get_path(scheme))
    tests = [found for name in ("numpy", "scipy") for found in (packages / name).rglob("tests")]
    unused = [packages / "scipy" / name for name in parts]
    unused += [found for name in ("setuptools", "pkg_resources") for found in packages.glob(name + "*")]
    for folder in [*tests, *unused, *packages.rglob("__pycache__")]:
        shutil.rmtree(folder, ignore_errors=True)
    foreign = [found for found in packages.iterdir() if found.is_dir() and not found.name.startswith("suspectra")]
    endings = ("c", "h", "pxd", "pyi", "pyx")
    sources = [found for folder in foreign for end in endings for found in folder.rglob("*." + end)]
    for file in [*sources, *packages.glob("scipy/special/cython_special*"), *packages.glob("numpy/_core/_simd.*")]:
        file.unlink(missing_ok=True)
`;

export interface Installation {
  base: NonNullable<NotFound['base']>;
  /** The wheel of the server; the other wheels in its folder are its dependencies. */
  wheel: string;
  /** The folder of all environments. */
  storage: string;
  /** Where processes are started. */
  cwd: string;
  /** Cancels the installation, which leaves nothing behind. */
  signal: AbortSignal;
  /** Called with each line that pip prints. */
  log: (line: string) => void;
}

/** Why there is no environment, and what to do. */
export class InstallationError extends Error {
  constructor(
    readonly problem: string,
    readonly cure: string,
  ) {
    super(problem);
  }
}

/** The wheel in a folder, if the extension was packaged with one. */
export function wheelIn(folder: string): string | undefined {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const name = names.find((entry) => entry.startsWith('suspectra-') && entry.endsWith('.whl'));
  return name && path.join(folder, name);
}

/** All bundled wheels, which pip therefore does not download. */
function bundledWith(wheel: string): string[] {
  const folder = path.dirname(wheel);
  const names = readdirSync(folder).filter((entry) => entry.endsWith('.whl'));
  return names.sort().map((name) => path.join(folder, name));
}

/** The environment for this wheel and this Python if it was made before and still works. */
export async function findEnvironment(
  installation: Pick<Installation, 'base' | 'wheel' | 'storage' | 'cwd'>,
): Promise<Interpreter | undefined> {
  const folder = folderFor(installation.base, installation.wheel, installation.storage);
  if (!existsSync(folder)) {
    return undefined;
  }
  const interpreter = interpreterIn(folder);
  const answer = await ask(interpreter, installation.cwd);
  if (!('suspectra' in answer) || !answer.suspectra) {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }); // its Python is gone, or files in it were deleted
    return undefined;
  }
  const now = new Date();
  utimesSync(folder, now, now); // so that it counts as used
  return interpreter;
}

/** Make the environment. A failure is an `InstallationError`, and leaves nothing behind. */
export async function createEnvironment(installation: Installation): Promise<Interpreter> {
  const { base, wheel, storage, cwd, signal, log } = installation;
  await mkdir(storage, { recursive: true });
  await removeUnused(storage);
  const folder = folderFor(base, wheel, storage);
  const building = await mkdtemp(path.join(storage, UNFINISHED_PREFIX));
  try {
    // isolated: neither PYTHONPATH nor the workspace can affect what is installed
    const { command, args } = base.interpreter;
    await run(command, [...args, '-I', '-m', 'venv', building], cwd, signal, log).catch((error: unknown) => {
      throw installationError(signal, error, venvFailed(base.interpreter));
    });
    const wheels = bundledWith(wheel);
    const python = (args: string[]) => run(pythonIn(building), args, cwd, signal, log);
    const pip = async (packages: string[]) => {
      await python([...INSTALL, ...packages]).catch((error: unknown) => {
        throw installationError(signal, error, (output) => pipFailed(output, wheels));
      });
    };
    await pip(['--no-deps', ...wheels]);
    const packages = await requirements(pythonIn(building), 'all', cwd);
    if (packages.length) {
      await pip(packages);
    }
    await python(['-I', '-c', TRIM]);
    await run(pythonIn(building), ['-I', '-c', 'import suspectra_server.server'], cwd, signal, log).catch(
      (error: unknown) => {
        throw installationError(signal, error, (output) => brokenPackages(output, base.python));
      },
    );
    await moveIntoPlace(building, folder);
    return interpreterIn(folder);
  } finally {
    await rm(building, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Add what programs of C and C++ need, unless it is there. A failure is an `InstallationError`. */
export async function addPartsForC(
  environment: Interpreter,
  installation: Pick<Installation, 'wheel' | 'cwd' | 'signal' | 'log'>,
): Promise<void> {
  const { wheel, cwd, signal, log } = installation;
  // importing it takes half a second
  const present = ['-I', '-c', 'import importlib.util, sys; sys.exit(importlib.util.find_spec("gcovr") is None)'];
  const missing = await run(environment.command, present, cwd, signal, () => undefined).then(
    () => false,
    () => true,
  );
  if (missing) {
    const packages = await requirements(environment.command, 'c', cwd);
    await run(environment.command, [...INSTALL, ...packages], cwd, signal, log).catch((error: unknown) => {
      throw installationError(signal, error, (output) => pipFailed(output, bundledWith(wheel)));
    });
  }
}

/** What the installed server needs, as pip takes it. */
async function requirements(python: string, programs: 'all' | 'c', cwd: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(python, ['-I', '-c', REQUIREMENTS, programs], { cwd });
  return stdout.split(/\r?\n/).filter(Boolean);
}

/** Give a complete environment its final name. A broken one is replaced; one of another window is kept. */
async function moveIntoPlace(building: string, folder: string): Promise<void> {
  if (existsSync(pythonIn(folder))) {
    return;
  }
  await rm(folder, { recursive: true, force: true });
  try {
    await rename(building, folder);
  } catch (error) {
    if (!existsSync(pythonIn(folder))) {
      throw error;
    }
  }
}

/** One environment for each version of the wheels and each Python. */
function folderFor(base: Installation['base'], wheel: string, storage: string): string {
  const digest = (data: string | Buffer) => createHash('sha256').update(data).digest('hex').slice(0, 8);
  const version = path.basename(wheel).split('-')[1];
  const content = Buffer.concat(bundledWith(wheel).map((file) => readFileSync(file)));
  const names = [version, digest(content), `py${base.python}`, digest(base.executable)];
  return path.join(storage, PREFIX + names.join('-'));
}

/** Remove environments that were not used for long, and what killed installations left. */
async function removeUnused(storage: string): Promise<void> {
  for (const name of await readdir(storage)) {
    const folder = path.join(storage, name);
    const days = (Date.now() - (await stat(folder)).mtimeMs) / DAY;
    if (
      (name.startsWith(PREFIX) && days > MAX_UNUSED_DAYS) ||
      (name.startsWith(UNFINISHED_PREFIX) && days > MAX_UNFINISHED_DAYS)
    ) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function interpreterIn(folder: string): Interpreter {
  return { command: pythonIn(folder), args: ['-I'], origin: 'the private environment' };
}

function pythonIn(folder: string): string {
  return process.platform === 'win32' ? path.join(folder, 'Scripts', 'python.exe') : path.join(folder, 'bin', 'python');
}

type Reason = (output: string) => { problem: string; cure: string };

function installationError(signal: AbortSignal, error: unknown, reason: Reason): InstallationError {
  if (signal.aborted) {
    return new InstallationError(
      t('The installation of the server was cancelled'),
      t('Run “Suspectra: Restart Server” to start it again, or install Suspectra in your environment'),
    );
  }
  const { problem, cure } = reason(error instanceof Error ? error.message : String(error));
  return new InstallationError(problem, cure);
}

function venvFailed(interpreter: Interpreter): Reason {
  return (output) => ({
    problem: t('{0} cannot make an environment for the server', shown(interpreter)),
    cure: /ensurepip|python3?[\d.]*-venv/.test(output)
      ? t(
          'Install its venv module (on Debian and Ubuntu: apt install python3-venv), then run “Suspectra: Restart Server”',
        )
      : t('See the output “Suspectra” for the details, or set suspectra.interpreter to another Python'),
  });
}

function pipFailed(output: string, wheels: string[]) {
  if (/No space left|Errno 28/.test(output)) {
    return {
      problem: t('There is no space left to install the server'),
      cure: t('Make room, then run “Suspectra: Restart Server”'),
    };
  }
  if (/connection|resol(ve|ution)|timed out|ProxyError|SSLError|unreachable|No matching distribution/i.test(output)) {
    return {
      problem: t('What the server needs could not be downloaded from the package index'),
      cure: t(
        'Go online, or name your index to pip (pip config set global.index-url …), then run “Suspectra: Restart Server”. Without an index: python -m pip install --find-links FOLDER "{0}" in your environment',
        wheels.join('" "'),
      ),
    };
  }
  return {
    problem: t('pip could not install the server'),
    cure: t('See the output “Suspectra” for the details, then run “Suspectra: Restart Server”'),
  };
}

function brokenPackages(output: string, python: string) {
  return {
    problem: t(
      'The server was installed but does not start with Python {0}: {1}',
      python,
      output.split('\n').at(-1) ?? '',
    ),
    cure: t('Set suspectra.interpreter to another Python, and see the output “Suspectra”'),
  };
}

/** Run a program, and log its lines. A failure is an error with the last lines. */
function run(
  command: string,
  args: string[],
  cwd: string,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const last: string[] = [];
    const child = spawn(command, args, {
      cwd,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32', // a process group, so that all its processes can be killed
    });
    const stop = () => killTree(child.pid);
    signal.addEventListener('abort', stop);
    if (signal.aborted) {
      stop();
    }
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split(/\r?\n/);
        rest = lines.pop() ?? '';
        for (const line of lines.filter((one) => one.trim())) {
          log(line);
          last.push(line);
          last.splice(0, last.length - 40);
        }
      });
    }
    child.on('error', reject);
    child.on('close', (status, killedBy) => {
      signal.removeEventListener('abort', stop);
      if (status === 0 && !signal.aborted) {
        resolve();
      } else {
        reject(new Error(last.join('\n') || `${command} ended with ${killedBy ?? `status ${status ?? 'unknown'}`}`));
      }
    });
  });
}

/** Kill a program and all that it started. */
function killTree(pid: number | undefined): void {
  if (pid === undefined) {
    return;
  }
  if (process.platform === 'win32') {
    execFile('taskkill', ['/pid', String(pid), '/T', '/F'], () => undefined);
  } else {
    try {
      process.kill(-pid, 'SIGTERM');
    } catch {
      // it has ended by itself
    }
  }
}
