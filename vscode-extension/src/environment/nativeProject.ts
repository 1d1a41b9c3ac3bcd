/** Whether the workspace is a C or C++ project that has no build folder with tests yet. */

import * as vscode from 'vscode';

const PROJECT = '{CMakeLists.txt,meson.build,configure.ac}';
const BUILT = ['CTestTestfile.cmake', 'meson-private/coredata.dat', 'config.status'];
const DEPTHS = ['', '*/', '*/*/']; // of a build folder, from the source tree itself on
const BUILDS = DEPTHS.flatMap((depth) => BUILT.map((file) => depth + file));

export class NativeProject implements vscode.Disposable {
  private readonly disposables: vscode.Disposable;

  constructor() {
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
    const find = async (pattern: string) => (await vscode.workspace.findFiles(pattern, null, 1)).length > 0;
    const can = (await find(PROJECT)) && !(await Promise.all(BUILDS.map(find))).some(Boolean);
    await vscode.commands.executeCommand('setContext', 'suspectra.canConfigure', can);
  }
}
