/** The state behind everything on the screen: the condition of the server, and its current ranking. */

import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';

import type { Server } from './client';
import { type Heat, heats } from './suspects/heat';
import { groupKey } from './suspects/failureGroups';
import type { FailureGroup, Suspect } from './listed';
import { type GroupSuspects, methods, type Status, type Suspects } from './protocol';
import type { Condition } from './messages';

export class Model implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly progressed = new vscode.EventEmitter<void>();
  private readonly listener: vscode.Disposable;
  private readonly heat = new Map<Suspect, Heat>();
  private asked = new Set<string>(); // keys of groups that were asked for since the last status
  private fetching = false;
  private fetchesWanted = 0;

  condition: Condition = { state: 'starting' };
  /** The same object as long as nothing in it changes. */
  report: Suspects | undefined;
  /** What was asked for about failure groups, by their keys; the same object as long as nothing in it changes. */
  loaded: ReadonlyMap<string, GroupSuspects> = new Map();

  /** Fires after every change of the condition or of the report. */
  readonly onDidChange = this.changed.event;

  /** Fires when a run or an investigation made progress and nothing else changed. */
  readonly onDidProgress = this.progressed.event;

  constructor(private readonly server: Server) {
    this.listener = server.onDidChange((condition) => this.setCondition(condition));
  }

  /** Best first. */
  get suspects(): readonly Suspect[] {
    return this.report?.suspects ?? [];
  }

  /** The failing tests of each folder by failure group. */
  get failures(): readonly FailureGroup[] {
    return this.report?.groups ?? [];
  }

  /** The failure groups of folders that have several. */
  get groups(): readonly FailureGroup[] {
    return this.failures.filter(({ id }) => id !== null);
  }

  /** The group whose suspects are shown, of the first folder that has several. */
  get currentGroup(): FailureGroup | undefined {
    return this.groups.find(({ current }) => current);
  }

  /** The names of all failing tests that execute a suspect. */
  get failingTests(): string[] {
    return [...new Set(this.suspects.flatMap(({ failingTests }) => failingTests))].sort();
  }

  /** The suspects of a group as far as they are known: those of the current one, and of groups that were asked for. */
  suspectsOf(group: FailureGroup): readonly Suspect[] {
    return group.current
      ? this.suspects.filter((suspect) => this.failureOf(suspect) === group)
      : (this.loaded.get(groupKey(group))?.suspects ?? []);
  }

  /** The failing tests because of which a suspect has its rank; of folders within others, those of the inner one. */
  failureOf({ group, uri }: Suspect): FailureGroup | undefined {
    const [inner] = this.failures
      .filter(({ folder, id }) => id === group && isBelow(folder, uri))
      .sort((a, b) => b.folder.length - a.folder.length);
    return inner;
  }

  /** What the tests of a group have in common, once that was asked for. */
  reasonOf(group: FailureGroup): string {
    return this.loaded.get(groupKey(group))?.reason ?? '';
  }

  /** Have the suspects of a group ranked and fetched, unless that was done; a change is announced once they are here. */
  async load(group: FailureGroup): Promise<void> {
    const { report } = this;
    const key = groupKey(group);
    if (this.asked.has(key)) {
      return;
    }
    const { asked } = this;
    asked.add(key);
    try {
      const found = await this.server.request<GroupSuspects | null>(methods.group, {
        folder: group.folder,
        id: group.id,
      });
      if (found && report && report === this.report) {
        const named = { ...found, suspects: withFolders({ ...report, suspects: found.suspects }).suspects };
        if (!isDeepStrictEqual(named, this.loaded.get(key))) {
          this.loaded = new Map(this.loaded).set(key, named);
          this.heatUp(named.suspects);
          this.changed.fire();
        }
      }
    } catch (error) {
      asked.delete(key);
      this.server.output.warn(String(error)); // the server went away; the next one sends its state
    }
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
        if (previous.state === 'runningTests' && isRankedAnew(previous, condition)) {
          void this.fetch();
        }
        break;
      case 'ranking':
        this.changed.fire();
        break;
      default:
        if (isProgress(previous, condition)) {
          this.progressed.fire();
        } else {
          void this.fetch();
        }
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
    this.asked = new Set(); // only the current group is in a report, and others may have changed
    if (!isDeepStrictEqual(report, this.report)) {
      this.report = report;
      this.loaded = new Map();
      this.heat.clear();
      this.heatUp(this.suspects);
    }
    this.changed.fire();
  }

  private heatUp(suspects: readonly Suspect[]): void {
    const heat = heats(suspects.map((suspect) => suspect.score));
    suspects.forEach((suspect, index) => this.heat.set(suspect, heat[index] ?? 1));
  }
}

/** Whether there is another ranking, which may happen several times in a run. */
function isRankedAnew(previous: Status, next: Status): boolean {
  return (['suspects', 'failed', 'passed'] as const).some((count) => previous[count] !== next[count]);
}

/** Whether nothing is new but the progress of an investigation. */
function isProgress(previous: Condition, next: Condition): boolean {
  const [before, now] = [previous, next].map((one) => ('investigation' in one ? one.investigation : null));
  return Boolean(before && now && JSON.stringify(before) !== JSON.stringify(now) && previous.state === next.state);
}

function isBelow(folder: string, uri: string): boolean {
  return uri.startsWith(`${folder.replace(/\/$/, '')}/`);
}

/** The report with names of folders. Only if there are several folders, which may have files of the same name. */
function withFolders(report: Suspects): Suspects {
  if ((vscode.workspace.workspaceFolders ?? []).length < 2) {
    return report;
  }
  const nameOf = (uri: string) => vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri))?.name;
  const named = (suspect: Suspect): Suspect => {
    const folder = nameOf(suspect.uri);
    return folder ? { ...suspect, folder, file: `${folder}/${suspect.file}` } : suspect;
  };
  const inFolder = (group: FailureGroup): FailureGroup => {
    const folderName = nameOf(group.folder);
    return folderName ? { ...group, folderName } : group;
  };
  return { ...report, groups: report.groups.map(inFolder), suspects: report.suspects.map(named) };
}
