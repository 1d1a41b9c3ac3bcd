/** The tree view of ranked suspects. */

import * as vscode from 'vscode';
import type { Location } from 'vscode-languageclient';

import { type Card, cards } from './failureCards';
import { groupDetails, groupKey, groupLabel } from './failureGroups';
import { emptiness, filtered, type Group, grouped, type Grouping, GROUPINGS, groupingText } from './grouping';
import { t } from './l10n';
import { picture } from './pictures';
import type { Model } from './model';
import type { FailureGroup, Suspect } from './protocol';
import { foundText, reportText, rowDetail, rowTitle, suspectDetails, suspectLabel } from './messages';

/** Failing tests that probably share a fault. */
export interface FailureRow {
  failure: FailureGroup;
  rows: (GroupRow | SuspectRow)[];
}

export interface GroupRow {
  group: Group;
  rows: SuspectRow[];
  parent: FailureRow | undefined;
}

export interface SuspectRow {
  suspect: Suspect;
  parent: GroupRow | FailureRow | undefined;
}

interface CardRow {
  card: Card;
}

interface ActionRow {
  parent: CardRow;
  label: string;
  icon: string;
  command: string;
}

type Row = FailureRow | GroupRow | SuspectRow | CardRow | ActionRow;

const GROUPING = 'suspectra.grouping';
const EXAMINED_SCHEME = 'suspectra-done';
const GO_TO_ERROR = 'suspectra.goToError';
const FOLLOW_DEBOUNCE_MS = 150;

export class SuspectsView implements vscode.TreeDataProvider<Row>, vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private readonly disposables: vscode.Disposable;
  private readonly rowsOf = new Map<Suspect, SuspectRow>();
  private readonly open = new Set<string>();
  private rows: Row[] = [];
  private grouping: Grouping;
  private filter = '';
  private showsExamined = false;
  private following: NodeJS.Timeout | undefined;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly model: Model,
    private readonly memento: vscode.Memento,
  ) {
    const remembered = memento.get<Grouping>(GROUPING, 'none');
    this.grouping = GROUPINGS.includes(remembered) ? remembered : 'none';
    this.view = vscode.window.createTreeView('suspectra.suspects', { treeDataProvider: this, showCollapseAll: true });
    this.disposables = vscode.Disposable.from(
      this.view,
      this.changed,
      model.onDidChange(() => this.refresh()),
      vscode.window.registerFileDecorationProvider(this),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
        const { document } = textEditor;
        this.follow(document.uri.toString(), selections[0]?.active.line ?? 0);
      }),
      this.view.onDidChangeVisibility(() => this.followCursor()),
      this.view.onDidExpandElement(({ element }) => this.opened(element, true)),
      this.view.onDidCollapseElement(({ element }) => this.opened(element, false)),
    );
    this.refresh();
  }

  /** Group the rows, and remember the grouping for this workspace. */
  async group(grouping: Grouping): Promise<void> {
    this.grouping = grouping;
    this.refresh();
    await this.memento.update(GROUPING, grouping);
  }

  /** Ask for a filter. It takes effect as it is typed; Escape restores the previous one. */
  askForFilter(): void {
    const previous = this.filter;
    const input = vscode.window.createInputBox();
    input.title = t('Filter the suspects');
    input.placeholder = t('Words in their file, function or failing tests');
    input.value = previous;
    let accepted = false;
    input.onDidChangeValue((value) => this.setFilter(value));
    input.onDidAccept(() => {
      accepted = true;
      input.hide();
    });
    input.onDidHide(() => {
      if (!accepted) {
        this.setFilter(previous);
      }
      input.dispose();
    });
    input.show();
  }

  setFilter(filter: string): void {
    this.filter = filter.trim();
    this.refresh();
  }

  /** List the suspects even if all of them are examined. */
  showExamined(): void {
    this.showsExamined = true;
    this.refresh();
  }

  /** Select the row of a location that the reader went to. */
  reveal({ uri, range }: Location): void {
    this.follow(uri, range.start.line);
  }

  getChildren(parent?: Row): Row[] {
    if (!parent) {
      return this.rows;
    }
    return 'rows' in parent ? parent.rows : 'card' in parent ? actions(parent) : [];
  }

  getParent(row: Row): Row | undefined {
    return 'parent' in row ? row.parent : undefined;
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if ('card' in row) {
      return this.cardItem(row.card);
    }
    if ('icon' in row) {
      return actionItem(row);
    }
    if ('failure' in row) {
      return this.failureItem(row.failure);
    }
    return 'group' in row ? this.groupItem(row) : this.suspectItem(row);
  }

  resolveTreeItem(item: vscode.TreeItem, row: Row): vscode.TreeItem {
    if ('failure' in row) {
      item.tooltip = new vscode.MarkdownString(groupDetails(row.failure, this.model.reasonOf(row.failure)));
    }
    if ('suspect' in row) {
      item.tooltip = new vscode.MarkdownString(
        suspectDetails(row.suspect, this.model.report?.title ?? '', this.model.heatOf(row.suspect)),
      );
    }
    return item;
  }

  /** Rows of examined suspects are grayed out. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const gray = new vscode.ThemeColor('disabledForeground');
    return uri.scheme === EXAMINED_SCHEME ? new vscode.FileDecoration(undefined, undefined, gray) : undefined;
  }

  dispose(): void {
    clearTimeout(this.following);
    this.disposables.dispose();
  }

  /** Groups are ranked when they are opened. */
  private opened(row: Row, open: boolean): void {
    if ('failure' in row) {
      this.open[open ? 'add' : 'delete'](groupKey(row.failure));
      if (open) {
        void this.model.load(row.failure);
      }
    }
  }

  private refresh(): void {
    const { suspects, report, groups } = this.model;
    const done = suspects.length > 0 && suspects.every((suspect) => suspect.examined);
    this.showsExamined &&= done;
    const shown = done && !this.showsExamined ? [] : filtered(suspects, this.filter);
    this.rowsOf.clear();
    this.rows = [
      ...cards(report).map((card) => ({ card })),
      ...groups.map((failure) => this.failureRow(failure)),
      ...this.suspectRows(groups.length ? shown.filter(({ group }) => group === null) : shown, undefined),
    ];
    this.view.description = groupingText(this.grouping);
    this.view.message = report && shown.length ? this.message(shown.length) : '';
    this.context('state', this.model.condition.state);
    this.context(
      'hasSuspects',
      suspects.some((suspect) => !suspect.examined),
    );
    this.context('empty', emptiness(report, shown.length, done));
    this.context('filtered', this.filter !== '');
    this.context('grouping', this.grouping);
    this.context('hasGroups', groups.length > 0);
    this.context(
      'investigating',
      'investigation' in this.model.condition && this.model.condition.investigation !== null,
    );
    const found = suspects.filter(({ findings }) => findings.length).length;
    this.view.badge = found ? { value: found, tooltip: foundText(found) } : undefined;
    this.changed.fire();
    for (const failure of groups.filter((group) => this.open.has(groupKey(group)))) {
      void this.model.load(failure);
    }
  }

  private failureRow(failure: FailureGroup): FailureRow {
    const row: FailureRow = { failure, rows: [] };
    row.rows = this.suspectRows(filtered(this.model.suspectsOf(failure), this.filter), row);
    return row;
  }

  /** The rows of suspects, grouped as the user wants it. */
  private suspectRows(suspects: readonly Suspect[], parent: FailureRow | undefined): (GroupRow | SuspectRow)[] {
    if (this.grouping === 'none') {
      return suspects.map((suspect) => this.row(suspect, parent));
    }
    return grouped(suspects, this.grouping).map((group) => {
      const row: GroupRow = { group, rows: [], parent };
      row.rows = group.suspects.map((suspect) => this.row(suspect, row));
      return row;
    });
  }

  private message(shown: number): string {
    const { report, suspects } = this.model;
    const words = report ? reportText(report) : '';
    return this.filter ? `${words}\n${t('{0} of {1} match “{2}”', shown, suspects.length, this.filter)}` : words;
  }

  private row(suspect: Suspect, parent: GroupRow | FailureRow | undefined): SuspectRow {
    const row = { suspect, parent };
    if (!this.rowsOf.has(suspect)) {
      this.rowsOf.set(suspect, row);
    }
    return row;
  }

  private failureItem(failure: FailureGroup): vscode.TreeItem {
    const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const label = groupLabel(failure);
    const item = new vscode.TreeItem(label, failure.current ? Expanded : Collapsed);
    const current = failure.current ? t('current') : '';
    item.id = `${groupKey(failure)} ${current}`; // another row once it is the current one, so that it opens
    item.description = current;
    item.contextValue = failure.current ? 'failureGroup.current' : 'failureGroup';
    item.iconPath = failure.current
      ? new vscode.ThemeIcon('target', new vscode.ThemeColor('list.errorForeground'))
      : new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
    item.accessibilityInformation = { label: [t('Failure group'), label, current].filter(Boolean).join(', ') };
    return item;
  }

  private groupItem({ group, rows, parent }: GroupRow): vscode.TreeItem {
    const item = new vscode.TreeItem(group.label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = [parent ? groupKey(parent.failure) : '', this.grouping, group.key].join(' ');
    item.description = [group.description, rows.length].filter(Boolean).join(' · ');
    item.tooltip = group.key;
    item.contextValue = group.test ? 'group.test' : 'group';
    item.iconPath = new vscode.ThemeIcon(
      { file: 'file-code', function: 'symbol-function', test: 'error', none: 'blank' }[this.grouping],
    );
    item.accessibilityInformation = {
      label: [group.label, group.description, rows.length === 1 ? t('1 suspect') : t('{0} suspects', rows.length)]
        .filter(Boolean)
        .join(', '),
    };
    return item;
  }

  private suspectItem({ suspect, parent }: SuspectRow): vscode.TreeItem {
    const heat = this.model.heatOf(suspect);
    const item = new vscode.TreeItem(rowTitle(suspect));
    item.id = [
      suspect.group,
      parent && 'group' in parent && parent.group.key,
      suspect.uri,
      suspect.line,
      suspect.endLine,
    ].join(' ');
    item.description = rowDetail(suspect);
    item.accessibilityInformation = { label: suspectLabel(suspect) };
    item.contextValue = suspect.examined ? 'suspect.examined' : 'suspect';
    if (suspect.examined) {
      item.resourceUri = vscode.Uri.from({ scheme: EXAMINED_SCHEME, path: '/' });
    }
    item.iconPath = suspect.examined
      ? new vscode.ThemeIcon(suspect.innocent ? 'pass' : 'check', new vscode.ThemeColor('disabledForeground'))
      : { dark: picture(heat, 'dark'), light: picture(heat, 'light') };
    item.command = { command: 'suspectra.open', title: t('Open'), arguments: [suspect] };
    return item;
  }

  private cardItem(card: Card): vscode.TreeItem {
    const item = new vscode.TreeItem(card.label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = card.key;
    item.description = card.description;
    item.tooltip = card.tooltip;
    item.contextValue = 'failure';
    item.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
    item.accessibilityInformation = { label: [t('Error'), card.label, card.description].filter(Boolean).join(', ') };
    return item;
  }

  private followCursor(): void {
    const editor = vscode.window.activeTextEditor;
    if (editor) {
      this.follow(editor.document.uri.toString(), editor.selection.active.line);
    }
  }

  /** Select the row of the suspect on a line, if the view is visible. The focus does not move. */
  private follow(uri: string, line: number): void {
    clearTimeout(this.following);
    this.following = setTimeout(() => {
      const suspect = this.view.visible ? this.model.at(uri, line) : undefined;
      const row = suspect && this.rowsOf.get(suspect);
      const [selected] = this.view.selection;
      const isSelected =
        selected && 'suspect' in selected && selected.suspect.uri === uri && selected.suspect.line === suspect?.line;
      if (row && !isSelected) {
        this.view.reveal(row, { select: true, focus: false }).then(undefined, () => undefined); // it may be gone
      }
    }, FOLLOW_DEBOUNCE_MS);
  }

  private context(name: string, value: unknown): void {
    void vscode.commands.executeCommand('setContext', `suspectra.${name}`, value);
  }
}

/** The actions below a card. */
function actions(parent: CardRow): ActionRow[] {
  const action = (label: string, icon: string, command: string): ActionRow => ({ parent, label, icon, command });
  return [
    ...(parent.card.location ? [action(t('Go to Error'), 'go-to-file', GO_TO_ERROR)] : []),
    action(t('Show Output'), 'output', 'suspectra.showOutput'),
    action(t('Run Again'), 'run-all', 'suspectra.runAgain'),
  ];
}

function actionItem({ parent, label, icon, command }: ActionRow): vscode.TreeItem {
  const item = new vscode.TreeItem(label);
  item.id = `${parent.card.key} ${command}`;
  item.iconPath = new vscode.ThemeIcon(icon);
  item.description = command === GO_TO_ERROR && parent.card.description;
  item.contextValue = 'action';
  item.command = { command, title: label, arguments: [parent.card] };
  return item;
}

/** The suspect of the row on which a command was given, if there is one. */
export function suspectOf(argument: unknown): Suspect | undefined {
  if (typeof argument !== 'object' || argument === null) {
    return undefined;
  }
  if ('suspect' in argument) {
    return suspectOf(argument.suspect);
  }
  return 'uri' in argument && 'rankBest' in argument ? (argument as Suspect) : undefined;
}
