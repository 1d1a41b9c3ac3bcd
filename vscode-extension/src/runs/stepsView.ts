/** A tree of values and decisions of a run: a slice, or the causes of a failure. */

import * as vscode from 'vscode';

import { sayIfHidden } from '../hidden';
import { t } from '../l10n';
import type { Step } from '../protocol';

/** A heading, with steps below it. */
export interface Heading {
  heading: string;
  steps: Step[];
}

type Row = Heading | Step;

export class StepsView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private rows: Row[] = [];

  readonly onDidChangeTreeData = this.changed.event;

  /** @param id - Of the view, as the manifest has it. */
  constructor(private readonly id: string) {
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true });
  }

  /** Show rows below a message. With `reveal` the view is opened; the focus stays in the code. */
  show(rows: Row[], message: string, reveal: boolean): void {
    this.rows = rows;
    this.view.message = message;
    this.changed.fire();
    if (reveal) {
      void vscode.commands.executeCommand(`${this.id}.open`, { preserveFocus: true });
    }
  }

  /** Say what it shows now, unless it is in sight. */
  announce(text: string): void {
    void sayIfHidden(this.view, this.id, text);
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return 'heading' in row ? headingItem(row) : stepItem(row);
  }

  getChildren(row?: Row): Row[] {
    return row ? row.steps : this.rows;
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

function headingItem({ heading, steps }: Heading): vscode.TreeItem {
  const item = new vscode.TreeItem(heading, vscode.TreeItemCollapsibleState.Expanded);
  item.description = `${steps.length}`;
  return item;
}

function stepItem(step: Step): vscode.TreeItem {
  const { None, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(stepTitle(step), step.steps.length ? Expanded : None);
  item.description = stepDetail(step);
  item.tooltip = new vscode.MarkdownString().appendText(`${step.file}:${step.line}`).appendCodeblock(step.source);
  item.iconPath = new vscode.ThemeIcon(step.steps.length ? 'type-hierarchy-sub' : 'symbol-value');
  item.accessibilityInformation = { label: stepLabel(step) };
  item.command = {
    command: 'suspectra.open',
    title: t('Open'),
    arguments: [step],
  };
  return item;
}

/** The first text of a row: how it is related to the row above, its source, its value. */
export function stepTitle({ why, source, value, file, line }: Step): string {
  const text = source || `${file}:${line}`;
  return [why, value ? `${text}  → ${value}` : text].filter(Boolean).join(' ');
}

const ENDINGS = { one: 'st', two: 'nd', few: 'rd' } as Partial<Record<Intl.LDMLPluralRule, string>>;

function ordinal(number: number): string {
  const rule = new Intl.PluralRules('en', { type: 'ordinal' }).select(number);
  return `${number}${ENDINGS[rule] ?? 'th'}`;
}

/** Which time a statement was executed, or in how many rounds of a loop, if that is worth a word. */
function times({ instance, rounds }: Step): string[] {
  if (rounds > 1) {
    return [t('{0} times', rounds)];
  }
  if (instance === 0) {
    return [t('at import')];
  }
  return instance > 1 ? [t('the {0} time', ordinal(instance))] : [];
}

/** The second text of a row: where it is, which time, and how much is elsewhere. */
export function stepDetail(step: Step): string {
  const { file, line, more } = step;
  const name = file.replace(/.*\//, '');
  return [
    `${name}:${line}`,
    ...times(step),
    ...(more ? [more === 1 ? t('1 more elsewhere') : t('{0} more elsewhere', more)] : []),
  ].join(' · ');
}

/** A row for a screen reader. */
export function stepLabel(step: Step): string {
  const { why, source, value, file, line } = step;
  return [
    [why, source].filter(Boolean).join(' '),
    ...(value ? [t('value {0}', value)] : []),
    `${file}, ${t('line')} ${line}`,
    ...times(step),
  ].join(', ');
}
