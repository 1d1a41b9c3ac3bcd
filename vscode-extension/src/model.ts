/** The state behind everything on the screen: the condition of the server, and its current ranking. */

import * as vscode from 'vscode';

import type { Server } from './client';
import { type Heat, heats } from './heat';
import { methods, type Suspect, type Suspects } from './protocol';
import type { Condition } from './messages';

export class Model implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly progressed = new vscode.EventEmitter<void>();
  private readonly listener: vscode.Disposable;
  private readonly heat = new Map<Suspect, Heat>();
  private fetching = false;
  private fetchesWanted = 0;

  condition: Condition = { state: 'starting' };
  report: Suspects | undefined;

  /** Fires after every change of the condition or of the report. */
  readonly onDidChange = this.changed.event;

  /** Fires when a test run made progress and nothing else changed. */
  readonly onDidProgress = this.progressed.event;

  constructor(private readonly server: Server) {
    this.listener = server.onDidChange((condition) => this.setCondition(condition));
  }

  /** Best first. */
  get suspects(): readonly Suspect[] {
    return this.report?.suspects ?? [];
  }

  /** How hot a suspect of the report is. */
  heatOf(suspect: Suspect): Heat {
    return this.heat.get(suspect) ?? 1;
  }

  /** The suspect on a line, counted from 0. */
  at(uri: string, line: number): Suspect | undefined {
    return this.suspects.find((s) => s.uri === uri && s.line - 1 <= line && line <= s.endLine - 1);
  }

  dispose(): void {
    this.listener.dispose();
    this.changed.dispose();
    this.progressed.dispose();
  }

  private setCondition(condition: Condition): void {
    const previous = this.condition;
    this.condition = condition;
    switch (condition.state) {
      case 'starting':
      case 'noFolder':
      case 'installing':
      case 'noServer':
        this.show(undefined);
        break;
      case 'runningTests':
        (previous.state === 'runningTests' ? this.progressed : this.changed).fire();
        break;
      case 'ranking':
        this.changed.fire();
        break;
      default:
        void this.fetch();
    }
  }

  /** One request at a time. All that changes meanwhile is answered by one more request. */
  private async fetch(): Promise<void> {
    this.fetchesWanted += 1;
    if (this.fetching) {
      return;
    }
    this.fetching = true;
    try {
      for (let answered = 0; answered < this.fetchesWanted;) {
        answered = this.fetchesWanted;
        const report = await this.server.request<Suspects>(methods.suspects, {});
        if ('technique' in this.condition) {
          this.show(withFolders(report)); // unless the server has ended meanwhile
        }
      }
    } catch (error) {
      this.server.output.warn(String(error)); // the server ended; the next one sends its state
    } finally {
      this.fetching = false;
    }
  }

  private show(report: Suspects | undefined): void {
    this.report = report;
    this.heat.clear();
    const heat = heats(this.suspects.map((suspect) => suspect.score));
    this.suspects.forEach((suspect, index) => this.heat.set(suspect, heat[index] ?? 1));
    this.changed.fire();
  }
}

/** The report with the folder of each suspect. Only if there are several folders, which may have files of the same name. */
function withFolders(report: Suspects): Suspects {
  if ((vscode.workspace.workspaceFolders ?? []).length < 2) {
    return report;
  }
  const named = (suspect: Suspect): Suspect => {
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(suspect.uri))?.name;
    return folder ? { ...suspect, folder, file: `${folder}/${suspect.file}` } : suspect;
  };
  return { ...report, suspects: report.suspects.map(named) };
}
