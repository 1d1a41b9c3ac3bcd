/** Which lines the run of a failing test executes, and in which it failed: green and red beside the line numbers. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { type RunValues, serverCommands } from '../protocol';

export class RunLines implements vscode.Disposable {
  private readonly executed = bar('testing.iconPassed');
  private readonly failed = bar('testing.iconFailed');
  private readonly disposables: vscode.Disposable;
  private shown: RunValues | undefined;

  constructor(server: Server) {
    this.disposables = vscode.Disposable.from(
      this.executed,
      this.failed,
      server.onDidExecute(({ command, result }) => {
        if (command === serverCommands.showValues) {
          this.show((result as RunValues | null) ?? undefined);
        }
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.decorate()),
      // the lines are those of the text that was run
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length && this.shown?.files.some(({ uri }) => uri === document.uri.toString())) {
          this.show(undefined);
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private show(run: RunValues | undefined): void {
    this.shown = run;
    this.decorate();
    const words = run && [t('The values are those of {0}', run.test.replace(/.*::/, '')), ...run.leftOut].join(' — ');
    if (words) {
      vscode.window.setStatusBarMessage(`$(symbol-variable) ${words}`, 6000);
    }
  }

  private decorate(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const file = this.shown?.files.find(({ uri }) => uri === editor.document.uri.toString());
      const failed = new Set(file?.failed ?? []);
      const ranges = (lines: readonly number[]) => lines.map((line) => new vscode.Range(line, 0, line, 0));
      editor.setDecorations(this.executed, ranges(file?.executed.filter((line) => !failed.has(line)) ?? []));
      editor.setDecorations(this.failed, ranges([...failed]));
    }
  }
}

/** A bar at the left edge of a line. */
function bar(color: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new vscode.ThemeColor(color),
    borderStyle: 'solid',
    borderWidth: '0 0 0 3px',
    overviewRulerColor: new vscode.ThemeColor(color),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
}
