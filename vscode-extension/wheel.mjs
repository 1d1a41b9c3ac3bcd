// Builds the wheels of the server and of the recorder into bundled/, which the package of the extension carries.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bundled = join(import.meta.dirname, 'bundled');
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));
const environment = ['.venv/bin/python', '.venv/Scripts/python.exe'].map((file) => join(root, file)).filter(existsSync);
const HAS_PIP = 'import sys, pip; sys.exit(sys.version_info < (3, 10))';

function fail(message) {
  console.error(`The wheels of the server can't be built: ${message}`);
  process.exit(1);
}

const given = process.env.PYTHON ? [process.env.PYTHON] : [...environment, 'python3', 'python'];
const python = given.find((command) => spawnSync(command, ['-c', HAS_PIP]).status === 0);
if (!python) {
  fail(
    `no Python 3.10 or newer with pip among ${given.join(', ')}. Run \`make setup\`, or name one: PYTHON=python3.12 npm run package`,
  );
}

rmSync(bundled, { recursive: true, force: true });
mkdirSync(bundled);
const pip = ['-m', 'pip', 'wheel', '--quiet', '--disable-pip-version-check', '--no-deps', '--wheel-dir', bundled];
if (spawnSync(python, [...pip, join(root, 'analysis'), root], { stdio: 'inherit' }).status !== 0) {
  fail(`${python} -m pip wheel failed, see above`);
}
const built = readdirSync(bundled).sort();
const wanted = ['pytest_suspectra', 'suspectra'].map((name) => `${name}-${version}-py3-none-any.whl`);
if (built.join() !== wanted.join()) {
  fail(`the extension is version ${version}, but the wheels are ${built.join() || 'missing'}`);
}
