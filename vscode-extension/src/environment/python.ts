/** Finding a Python that can run the server. Knows nothing of VS Code. */

import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import * as path from 'node:path';

import { t } from '../l10n';

export const MINIMUM = [3, 10] as const;

/** A command that starts Python, and where it comes from. */
export interface Interpreter {
  command: string;
  args: string[];
  origin: string;
}

/** The answer of an interpreter about itself. */
export type Answer = { python: string; suspectra: string | undefined; executable?: string } | { failure: string };

/** What to search for. */
export interface Wanted {
  /** The version of Suspectra that fits the extension. */
  version: string;
  /** The folder of the wheels that come with the extension. */
  wheels: string;
  /** Whether an environment's own Suspectra may be used, rather than always the one that came with the extension. */
  fromEnvironment: boolean;
}

export type Search = { found: Interpreter; python: string; suspectra: string; tried: string[] } | NotFound;

export interface NotFound {
  problem: string;
  cure: string;
  tried: string[];
  /** A Python that is new enough to make an environment with. */
  base?: { interpreter: Interpreter; python: string; executable: string };
}

export interface InterpreterSearch {
  /** The setting `suspectra.interpreter`. */
  setting: readonly string[];
  /** The interpreter selected in the Python extension, if that is installed. */
  active: string | undefined;
  /** Paths of the workspace folders. */
  folders: readonly string[];
  /** Programs in an untrusted workspace are never started. */
  trusted: boolean;
  platform: NodeJS.Platform;
}

/**
 * The command in the setting `suspectra.interpreter`. A single string counts as a list of one. Anything else that is not a
 * list of strings is ignored, and reported to `warn`.
 */
export function interpreterSetting(value: unknown, warn: (problem: string) => void): string[] {
  const words: unknown = typeof value === 'string' ? [value] : (value ?? []);
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) {
    return words.filter((word) => word.trim());
  }
  warn('The setting suspectra.interpreter is not usable (it must be a list of strings), so it is ignored');
  return [];
}

/** The interpreters to try, best first. If the setting is used, nothing else is tried. */
export function candidates(basis: InterpreterSearch): Interpreter[] {
  const [command, ...args] = basis.setting.map((part) => fillIn(part, basis.folders[0]));
  if (command) {
    return [{ command, args, origin: 'the setting suspectra.interpreter' }];
  }
  const windows = basis.platform === 'win32';
  const plain = (command: string, origin: string): Interpreter => ({ command, args: [], origin });
  const onPath = (windows ? ['python', 'python3'] : ['python3', 'python']).map((name) => plain(name, 'the PATH'));
  if (!basis.trusted) {
    return onPath;
  }
  const own = windows ? path.win32 : path.posix;
  const inFolders = basis.folders.flatMap((folder) =>
    ['.venv', 'venv'].map((name) =>
      plain(
        own.join(folder, name, ...(windows ? ['Scripts', 'python.exe'] : ['bin', 'python'])),
        `the workspace's ${name}`,
      ),
    ),
  );
  const active = basis.active ? [plain(basis.active, 'the Python extension')] : [];
  return [...active, ...inFolders, ...onPath];
}

// Runs under any Python from 2.7 on, so that one that is too old can answer.
const PROBE = `
import sys
version = ""
try:
    from importlib import metadata, util
    if util.find_spec("suspectra_server"):
        version = metadata.version("suspectra")
except Exception:
    pass
base = getattr(sys, "_base_executable", None) or sys.executable or ""
sys.stdout.write(".".join(str(n) for n in sys.version_info[:3]) + " " + version + "\\n" + base)
`;

/** Ask an interpreter for its version and for Suspectra's. It is started outside the workspace, so that no file there can shadow a module. */
export function ask(interpreter: Interpreter, cwd: string): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(
      interpreter.command,
      [...interpreter.args, '-c', PROBE],
      { cwd, timeout: 20_000, windowsHide: true },
      (error, stdout, stderr) => {
        const [, python, suspectra, executable] = /^(\d+\.\d+\.\d+) (\S*)\s*(.*)/.exec(stdout) ?? [];
        if (!error && python) {
          resolve({ python, suspectra: suspectra === '' ? undefined : suspectra, ...(executable && { executable }) });
        } else if (error && 'code' in error && error.code === 'ENOENT') {
          resolve({ failure: 'not found' });
        } else {
          const reasons = [stderr.trim().split('\n').at(-1), error?.message];
          resolve({ failure: reasons.find(Boolean) ?? 'gave no version' });
        }
      },
    );
  });
}

/** The first interpreter that is new enough and has Suspectra; if there is none, the problem and its fix. */
export async function search(
  interpreters: readonly Interpreter[],
  wanted: Wanted,
  ask: (interpreter: Interpreter) => Promise<Answer>,
): Promise<Search> {
  const tried: string[] = [];
  let base: NotFound['base'];
  let other: string | undefined;
  let old: { interpreter: Interpreter; python: string } | undefined;
  for (const interpreter of interpreters) {
    const answer = await ask(interpreter);
    tried.push(`${shown(interpreter)} (${interpreter.origin}): ${verdict(answer)}`);
    if ('failure' in answer) {
      continue;
    }
    if (!newEnough(answer.python)) {
      old ??= { interpreter, python: answer.python };
    } else if (answer.suspectra && wanted.fromEnvironment && compatible(answer.suspectra, wanted.version)) {
      return { found: interpreter, python: answer.python, suspectra: answer.suspectra, tried };
    } else if (!base) {
      base = { interpreter, python: answer.python, executable: answer.executable ?? interpreter.command };
      other = answer.suspectra;
    }
  }
  if (base) {
    const where = shown(base.interpreter);
    return {
      problem: other
        ? t('The Suspectra {0} of {1} does not go with version {2} of the extension', other, where, wanted.version)
        : t('Suspectra is not installed in {0}', where),
      cure: `${where} -m pip install --find-links "${wanted.wheels}" suspectra==${wanted.version}`,
      tried,
      base,
    };
  }
  const minimum = MINIMUM.join('.');
  const cure = t('Install Python {0} or newer, select it, or set suspectra.interpreter to one', minimum);
  const [only, ...others] = interpreters;
  const problem = old
    ? t('{0} is Python {1}; Suspectra needs {2} or newer', shown(old.interpreter), old.python, minimum)
    : only && !others.length
      ? t('{0} does not start', shown(only))
      : t('No Python was found');
  return { problem, cure, tried };
}

function verdict(answer: Answer): string {
  if ('failure' in answer) {
    return answer.failure;
  }
  const suspectra = answer.suspectra ? `Suspectra ${answer.suspectra}` : 'no Suspectra';
  return `Python ${answer.python}${newEnough(answer.python) ? '' : ', too old'}, ${suspectra}`;
}

/** Whether two versions speak the same protocol: before 1.0 the second number counts, too. */
export function compatible(one: string, other: string): boolean {
  const series = (version: string) =>
    version
      .split('.')
      .slice(0, version.startsWith('0.') ? 2 : 1)
      .join('.');
  return series(one) === series(other);
}

function newEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

/** The command of an interpreter, as it would be typed. */
export function shown(interpreter: Interpreter): string {
  return [interpreter.command, ...interpreter.args].map((part) => (/\s/.test(part) ? `"${part}"` : part)).join(' ');
}

function fillIn(text: string, folder: string | undefined): string {
  return text.replaceAll('${workspaceFolder}', folder ?? '').replace(/^~(?=$|[\\/])/, homedir());
}
