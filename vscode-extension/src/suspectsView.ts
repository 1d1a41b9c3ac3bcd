/** The tree view of ranked suspects. */

import * as vscode from 'vscode';

import type { Suspect, Suspects } from './protocol';
import { rankWords, reportWords, scoreWords, shortName, suspectDetails, suspectLabel, suspectPlace } from './words';

const BAND_COLOR = {
  high: 'charts.red',
  medium: 'charts.yellow',
  low: 'descriptionForeground',
} as const;

export class SuspectsView implements vscode.TreeDataProvider<Suspect>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: Pick<vscode.TreeView<Suspect>, 'dispose'> & { message?: string | undefined };
  private report: Suspects | undefined;

  readonly onDidChangeTreeData = this.changed.event;

  constructor() {
    this.view = vscode.window.createTreeView('suspectra.suspects', { treeDataProvider: this });
  }

  /** Show a report; none empties the view, which then says what to do. */
  show(report: Suspects | undefined): void {
    this.report = report?.suspects.length ? report : undefined;
    this.view.message = this.report && reportWords(this.report);
    this.changed.fire();
  }

  getChildren(parent?: Suspect): Suspect[] {
    return parent ? [] : (this.report?.suspects ?? []);
  }

  getTreeItem(suspect: Suspect): vscode.TreeItem {
    const item = new vscode.TreeItem(`${rankWords(suspect)}  ${shortName(suspect)}`);
    item.description = `${suspectPlace(suspect).replace(/.*\//, '')} · ${scoreWords(suspect.score)}`;
    item.tooltip = new vscode.MarkdownString(suspectDetails(suspect, this.report?.technique ?? ''));
    item.accessibilityInformation = { label: suspectLabel(suspect) };
    item.contextValue = suspect.examined ? 'suspect.examined' : 'suspect';
    item.iconPath = suspect.examined
      ? new vscode.ThemeIcon('check', new vscode.ThemeColor('disabledForeground'))
      : new vscode.ThemeIcon('circle-filled', new vscode.ThemeColor(BAND_COLOR[suspect.band]));
    item.command = {
      command: 'vscode.open',
      title: 'Open',
      arguments: [vscode.Uri.parse(suspect.uri), { selection: start(suspect) }],
    };
    return item;
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

function start(suspect: Suspect): vscode.Range {
  const { line, character } = suspect.range.start;
  return new vscode.Range(line, character, line, character);
}
