/** Whether the workspace is a C or C++ project, and whether it has no build folder with tests yet. */

import * as vscode from 'vscode';

const PROJECT = '{CMakeLists.txt,meson.build,configure.ac}';
const BUILT = ['CTestTestfile.cmake', 'meson-private/coredata.dat', 'config.status'];
const DEPTHS = ['', '*/', '*/*/']; // of a build folder, from the source tree itself on
const BUILDS = DEPTHS.flatMap((depth) => BUILT.map((file) => depth + file));
const PYTHON = '{pyproject.toml,setup.py,setup.cfg,tox.ini,pytest.ini,**/test_*.py,**/*_test.py}';

/** Whether something of a C or C++ project lies at the top of a folder of the workspace. */
export function isNative(): Promise<boolean> {
  return found(PROJECT);
}

async function found(pattern: string): Promise<boolean> {
  return (await vscode.workspace.findFiles(pattern, null, 1)).length > 0;
}

export class NativeProject implements vscode.Disposable {
  private readonly disposables: vscode.Disposable;
  private native: boolean | undefined;

  /** @param became - Called when the workspace becomes such a project. */
  constructor(private readonly became: () => unknown) {
    const watchers = [PROJECT, ...BUILT.map((file) => `**/${file}`)].map((pattern) =>
      vscode.workspace.createFileSystemWatcher(pattern, false, true, false),
    );
    const check = () => void this.check();
    this.disposables = vscode.Disposable.from(
      ...watchers,
      ...watchers.flatMap((watcher) => [watcher.onDidCreate(check), watcher.onDidDelete(check)]),
      vscode.workspace.onDidChangeWorkspaceFolders(check),
    );
    check();
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async check(): Promise<void> {
    const native = await isNative();
    if (native && this.native === false) {
      this.became();
    }
    this.native = native;
    const can = native && !(await Promise.all(BUILDS.map(found))).some(Boolean);
    await vscode.commands.executeCommand('setContext', 'suspectra.canConfigure', can);
    await vscode.commands.executeCommand('setContext', 'suspectra.onlyNative', can && !(await found(PYTHON)));
  }
}
