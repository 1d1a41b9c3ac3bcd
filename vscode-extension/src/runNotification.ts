/** The notification of a test run: its progress, and a button that cancels it. */

import * as vscode from 'vscode';
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from 'vscode-languageclient';

import { t } from './l10n';

type Reported = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

export class RunNotification {
  private running:
    { report: vscode.Progress<{ message?: string; increment?: number }>; end: () => void; percent: number } | undefined;

  constructor(private readonly cancel: (token: ProgressToken) => unknown) {}

  /** Show the progress that the server reports. */
  handle(token: ProgressToken, reported: Reported): void {
    switch (reported.kind) {
      case 'begin':
        this.begin(token);
        break;
      case 'report':
        this.show(reported);
        break;
      case 'end':
        this.end();
    }
  }

  /** The run is over, or the server is gone. */
  end(): void {
    this.running?.end();
    this.running = undefined;
  }

  private begin(token: ProgressToken): void {
    this.end();
    void vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: t('Running the tests'), cancellable: true },
      (report, cancellation) =>
        new Promise<void>((end) => {
          this.running = { report, end, percent: 0 };
          cancellation.onCancellationRequested(() => this.cancel(token));
        }),
    );
  }

  private show({ message, percentage }: WorkDoneProgressReport): void {
    if (this.running) {
      const percent = percentage ?? this.running.percent;
      this.running.report.report({ ...(message ? { message } : {}), increment: percent - this.running.percent });
      this.running.percent = percent;
    }
  }
}
