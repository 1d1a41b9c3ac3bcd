/** The progress of runs of tests: quiet where a view tells of them, else a notification with a button that cancels. */

import * as vscode from 'vscode';
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from 'vscode-languageclient';

import { t } from '../l10n';

interface Running {
  report: vscode.Progress<{ message?: string; increment?: number }>;
  end: () => void;
  percent: number;
}

type Reported = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

export class RunNotification {
  private readonly running = new Map<ProgressToken, Running>();

  constructor(private readonly cancel: (token: ProgressToken) => unknown) {}

  /** Show the progress that the server reports. */
  handle(token: ProgressToken, reported: Reported): void {
    switch (reported.kind) {
      case 'begin':
        this.begin(token, reported.title);
        break;
      case 'report':
        this.show(token, reported);
        break;
      case 'end':
        this.endOne(token);
    }
  }

  /** The server is gone. */
  end(): void {
    [...this.running.keys()].forEach((token) => this.endOne(token));
  }

  private endOne(token: ProgressToken): void {
    this.running.get(token)?.end();
    this.running.delete(token);
  }

  private begin(token: ProgressToken, title: string): void {
    this.endOne(token);
    void vscode.window.withProgress(
      { location: locationOf(title), title: inWords(title), cancellable: true },
      (report, cancellation) =>
        new Promise<void>((end) => {
          this.running.set(token, { report, end, percent: 0 });
          cancellation.onCancellationRequested(() => this.cancel(token));
        }),
    );
  }

  private show(token: ProgressToken, { message, percentage }: WorkDoneProgressReport): void {
    const running = this.running.get(token);
    if (running) {
      const percent = percentage ?? running.percent;
      running.report.report({ ...(message ? { message } : {}), increment: percent - running.percent });
      running.percent = percent;
    }
  }
}

/** The view that shows how far a run is, and has a button that cancels it. */
function locationOf(title: string): vscode.ProgressOptions['location'] {
  switch (title.replace(/^Suspectra: /, '')) {
    case 'running tests':
    case 'finding out why it fails': // beside a panel that tells all that is known
      return { viewId: 'suspectra.suspects' };
    case 'searching for the cause':
      return { viewId: 'suspectra.causes' };
    default:
      return vscode.ProgressLocation.Notification;
  }
}

/** What the server does, in the language of the editor; a title without a translation stays as it is. */
export function inWords(title: string): string {
  switch (title.replace(/^Suspectra: /, '')) {
    case 'running tests':
      return t('Running the tests');
    case 'trying what makes tests pass':
      return t('Trying what makes failing tests pass');
    case 'searching for the cause':
      return t('Searching for the cause');
    case 'searching for the change':
      return t('Searching for the change');
    case 'searching for a fix':
      return t('Searching for a fix');
    case 'trying changes':
      return t('Trying changes');
    case 'finding out why it fails':
      return t('Finding out why it fails');
    case 'tracing a failing test':
      return t('Tracing a failing test');
    case 'comparing with a passing run':
      return t('Comparing with a passing run');
    case 'comparing values with passing tests':
      return t('Comparing values with passing tests');
    default:
      return title;
  }
}
