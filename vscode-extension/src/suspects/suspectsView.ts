/** The tree view of ranked suspects. */

import * as vscode from 'vscode';
import type { Location } from 'vscode-languageclient';

import { type Card, cards } from './failureCards';
import { groupDetails, groupKey, groupSpoken } from './failureGroups';
import {
  byFunction,
  emptiness,
  filtered,
  type Group,
  grouped,
  type Grouping,
  GROUPINGS,
  groupingText,
} from './grouping';
import { sayIfHidden } from '../hidden';
import { t } from '../l10n';
import { picture } from './pictures';
import type { Model } from '../model';
import type { FailureGroup, Suspect } from '../listed';
import type { UnexplainedFailures } from '../protocol';
import { ANSWER_RUN_OFFER, type RunOffer } from '../testing/runOffer';
import { foundText, rankText, reportText, shortName, suspectDetails } from '../messages';
import { badges, examined, type Naming, rowDetail, rowLabel, type RowSuspects, rowTitle } from './rowTexts';

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

/** The suspects of a function, with a row for each line if there are several; or one suspect. */
export interface SuspectRow {
  id: string;
  /** The first of them: what the row opens, and what commands on it are about. */
  suspect: Suspect;
  suspects: RowSuspects;
  naming: Naming;
  rows: (SuspectRow | MoreRow)[];
  /** Whether its rank is that of the function, and not that of a line. */
  whole: boolean;
  parent: SuspectRow | MoreRow | GroupRow | FailureRow | undefined;
}

/** The lines of a function after its first ones. */
interface MoreRow {
  id: string;
  rows: SuspectRow[];
  parent: SuspectRow;
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

interface UnexplainedRow {
  unexplained: UnexplainedFailures;
}

interface OfferRow {
  offered: 'run';
}

type Row = FailureRow | GroupRow | SuspectRow | MoreRow | CardRow | ActionRow | UnexplainedRow | OfferRow;

const ID = 'suspectra.suspects';
const GROUPING = 'suspectra.grouping';
const EXAMINED_SCHEME = 'suspectra-done';
const CHANGED_SCHEME = 'suspectra-changed';
const GO_TO_ERROR = 'suspectra.goToError';
const FOLLOW_DEBOUNCE_MS = 150;
const FIRST_LINES = 3; // of a function: the server lists these of all functions before any others

export class SuspectsView implements vscode.TreeDataProvider<Row>, vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private readonly disposables: vscode.Disposable;
  private readonly rowsOf = new Map<Suspect, SuspectRow>();
  private readonly open = new Set<string>(); // keys of failure groups and ids of functions, as the user left them
  private rows: Row[] = [];
  private drawn = false; // VS Code has asked for the rows since they changed
  private madeFrom: readonly unknown[] = []; // what the rows were last made from
  private grouping: Grouping;
  private filter = '';
  private showsExamined = false;
  private following: NodeJS.Timeout | undefined;
  private ran = false; // tests, as the user wanted, and what came of it is not here yet

  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly model: Model,
    private readonly memento: vscode.Memento,
    private readonly offer: RunOffer,
  ) {
    const remembered = memento.get<Grouping>(GROUPING, 'function');
    this.grouping = GROUPINGS.includes(remembered) ? remembered : 'function';
    this.view = vscode.window.createTreeView(ID, { treeDataProvider: this });
    this.disposables = vscode.Disposable.from(
      this.view,
      this.changed,
      model.onDidChange(() => {
        this.refresh();
        this.sayWhatStoppedTests();
      }),
      offer.onDidChange(() => this.refresh()),
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
      this.drawn = true;
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
    if ('unexplained' in row) {
      return unexplainedItem(row.unexplained);
    }
    if ('failure' in row) {
      return this.failureItem(row.failure);
    }
    if ('suspect' in row) {
      return this.suspectItem(row);
    }
    if ('offered' in row) {
      return offerItem();
    }
    return 'group' in row ? this.groupItem(row) : moreItem(row);
  }

  resolveTreeItem(item: vscode.TreeItem, row: Row): vscode.TreeItem {
    if ('failure' in row) {
      item.tooltip = new vscode.MarkdownString(groupDetails(row.failure, this.model.reasonOf(row.failure)));
    }
    if ('suspect' in row) {
      const rank = row.whole ? `${row.suspect.functionRank}` : rankText(row.suspect); // as the row is spoken
      const details = suspectDetails(row.suspect, this.model.report?.title ?? '', this.model.heatOf(row.suspect), rank);
      item.tooltip = new vscode.MarkdownString([details, ...badges(row.suspects)].join('\n\n'));
    }
    return item;
  }

  /** Rows of examined suspects are grayed out; changed ones have a mark that the narrowest view has room for. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme === CHANGED_SCHEME) {
      return new vscode.FileDecoration('●', t('changed'));
    }
    const gray = new vscode.ThemeColor('disabledForeground');
    return uri.scheme === EXAMINED_SCHEME ? new vscode.FileDecoration(undefined, undefined, gray) : undefined;
  }

  dispose(): void {
    clearTimeout(this.following);
    this.disposables.dispose();
  }

  /** Groups are ranked when they are opened. */
  private opened(row: Row, open: boolean): void {
    const change = open ? 'add' : 'delete';
    if ('id' in row) {
      this.open[change](row.id);
    } else if ('failure' in row) {
      this.open[change](groupKey(row.failure));
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
    this.context('compiled', 'compiled' in this.model.condition && this.model.condition.compiled);
    this.context('onlyRead', 'onlyRead' in this.model.condition && this.model.condition.onlyRead);
    this.context(
      'investigating',
      'investigation' in this.model.condition && this.model.condition.investigation !== null,
    );
    const found = suspects.filter(({ repairs }) => repairs).length;
    this.view.badge = found ? { value: found, tooltip: foundText(found) } : undefined;
    const madeFrom = [report, this.model.loaded, this.grouping, this.filter, this.showsExamined, this.offer.open];
    // a row that is drawn anew loses the click that is on its way to it
    if (madeFrom.some((part, index) => part !== this.madeFrom[index])) {
      this.madeFrom = madeFrom;
      this.makeRows(shown);
    }
    for (const failure of groups.filter((group) => this.open.has(groupKey(group)))) {
      void this.model.load(failure);
    }
  }

  /** After a run that the user started; one that a save started is to disturb nobody. */
  private sayWhatStoppedTests(): void {
    const { condition, report } = this.model;
    if (condition.state === 'runningTests') {
      this.ran ||= condition.progress?.onSave === false;
    } else if (this.ran && condition.state !== 'ranking') {
      this.ran = false;
      const [card] = cards(report);
      if (card) {
        void sayIfHidden(this.view, ID, card.label);
      }
    }
  }

  private makeRows(shown: readonly Suspect[]): void {
    this.rowsOf.clear();
    this.rows = [
      ...cards(this.model.report).map((card) => ({ card })),
      ...this.model.failures.filter(({ id }) => id !== null || shown.length).map((failure) => this.failureRow(failure)),
      ...this.suspectRows(
        shown.filter((suspect) => !this.model.failureOf(suspect)),
        undefined,
      ),
      ...(this.model.report?.unexplained ?? []).map((unexplained) => ({ unexplained })),
      ...(shown.length && this.offer.open ? [{ offered: 'run' as const }] : []),
    ];
    this.drawn = false;
    this.changed.fire();
  }

  private failureRow(failure: FailureGroup): FailureRow {
    const row: FailureRow = { failure, rows: [] };
    row.rows = this.suspectRows(filtered(this.model.suspectsOf(failure), this.filter), row);
    return row;
  }

  /** The rows of suspects, as the user wants them. */
  private suspectRows(suspects: readonly Suspect[], parent: FailureRow | undefined): (GroupRow | SuspectRow)[] {
    const { grouping } = this;
    if (grouping === 'none' || grouping === 'function') {
      return this.rowsFor(suspects, parent);
    }
    return grouped(suspects, grouping).map((group) => {
      const row: GroupRow = { group, rows: [], parent };
      row.rows = this.rowsFor(group.suspects, row);
      return row;
    });
  }

  /** A row for each function, or for each suspect if the user wants the lines. */
  private rowsFor(suspects: readonly Suspect[], parent: GroupRow | FailureRow | undefined): SuspectRow[] {
    const functions = byFunction(suspects);
    const names = new Set<string>();
    const twice = new Set<string>();
    for (const [one] of functions) {
      (names.has(shortName(one)) ? twice : names).add(shortName(one));
    }
    const all = this.grouping === 'none' ? suspects.map((suspect): RowSuspects => [suspect]) : functions;
    const whole = this.grouping !== 'none';
    return all.map((some) => {
      const naming = twice.has(shortName(some[0])) ? 'qualified' : 'member';
      return this.row(some, naming, whole, parent);
    });
  }

  private row(suspects: RowSuspects, naming: Naming, whole: boolean, parent: SuspectRow['parent']): SuspectRow {
    const [suspect] = suspects;
    const { group, uri, line, endLine } = suspect;
    const within = parent && 'group' in parent ? parent.group.key : '';
    const what = suspects.length > 1 ? suspect.function : `${line} ${endLine}`;
    const id = [group, within, uri, what, naming === 'line'].join(' ');
    const row: SuspectRow = { id, suspect, suspects, naming, rows: [], whole, parent };
    if (suspects.length > 1) {
      const lines = (some: readonly Suspect[], above: SuspectRow | MoreRow) =>
        some.map((one) => this.row([one], 'line', false, above));
      row.rows = lines(suspects.slice(0, FIRST_LINES), row);
      if (suspects.length > FIRST_LINES) {
        const more: MoreRow = { id: `${id} more`, rows: [], parent: row };
        more.rows = lines(suspects.slice(FIRST_LINES), more);
        row.rows.push(more);
      }
    } else if (!this.rowsOf.has(suspect)) {
      this.rowsOf.set(suspect, row);
    }
    return row;
  }

  private message(shown: number): string {
    const { report, suspects } = this.model;
    const words = report ? reportText(report) : '';
    return this.filter ? `${words}\n${t('{0} of {1} match “{2}”', shown, suspects.length, this.filter)}` : words;
  }

  private failureItem(failure: FailureGroup): vscode.TreeItem {
    const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const { id, uri, range, current, folderName } = failure;
    const item = new vscode.TreeItem(failure.names, current ? Expanded : Collapsed);
    const isCurrent = id !== null && current;
    item.id = `${groupKey(failure)} ${isCurrent ? 'current' : ''}`; // another row once it is current, so that it opens
    item.description = [folderName, failure.failure && `— ${failure.failure}`].filter(Boolean).join(' ');
    item.contextValue = id === null ? 'failureGroup.only' : current ? 'failureGroup.current' : 'failureGroup';
    item.iconPath = new vscode.ThemeIcon(isCurrent ? 'target' : 'error', new vscode.ThemeColor('list.errorForeground'));
    item.accessibilityInformation = { label: groupSpoken(failure) };
    if (uri && range) {
      item.command = { command: 'suspectra.open', title: t('Open'), arguments: [{ uri, range }] };
    }
    return item;
  }

  private groupItem({ group, parent }: GroupRow): vscode.TreeItem {
    const item = new vscode.TreeItem(group.label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = [parent ? groupKey(parent.failure) : '', this.grouping, group.key].join(' ');
    const count = group.suspects.length;
    item.description = [group.description, count].filter(Boolean).join(' · ');
    item.tooltip = group.key;
    item.contextValue = group.test ? 'group.test' : 'group';
    item.iconPath = new vscode.ThemeIcon(group.test ? 'error' : 'file-code');
    item.accessibilityInformation = {
      label: [group.label, group.description, count === 1 ? t('1 suspect') : t('{0} suspects', count)]
        .filter(Boolean)
        .join(', '),
    };
    return item;
  }

  private suspectItem({ id, suspect, suspects, naming, whole, rows }: SuspectRow): vscode.TreeItem {
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const heat = this.model.heatOf(suspect);
    const done = examined(suspects);
    const item = new vscode.TreeItem(rowTitle(suspects, naming), rows.length ? Collapsed : None);
    item.id = id;
    item.description = rowDetail(suspects, naming);
    item.accessibilityInformation = { label: rowLabel(suspects, whole) };
    item.contextValue = done ? 'suspect.examined' : 'suspect';
    if (done || suspects.some(({ changed }) => changed)) {
      item.resourceUri = vscode.Uri.from({ scheme: done ? EXAMINED_SCHEME : CHANGED_SCHEME, path: '/' });
    }
    const innocent = suspects.every((one) => one.innocent);
    item.iconPath = done
      ? new vscode.ThemeIcon(innocent ? 'pass' : 'check', new vscode.ThemeColor('disabledForeground'))
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

  /** Select the row of the suspect on a line, or that of its function, if the view is visible. The focus stays. */
  private follow(uri: string, line: number): void {
    clearTimeout(this.following);
    this.following = setTimeout(() => {
      if (!this.view.visible) {
        return;
      }
      // VS Code selects a row only when all are drawn anew, and opens the view for that, in front of whatever was opened
      // in the meantime
      if (!this.drawn) {
        this.follow(uri, line);
        return;
      }
      const suspect = this.model.at(uri, line);
      const row = suspect && this.rowsOf.get(suspect);
      let shown: SuspectRow | MoreRow | undefined = row;
      for (let above = row?.parent; above && 'id' in above; above = above.parent) {
        shown = this.open.has(above.id) ? shown : above;
      }
      const [selected] = this.view.selection;
      const isSelected = selected && 'id' in selected && selected.id === shown?.id;
      if (shown && !isSelected) {
        this.view.reveal(shown, { select: true, focus: false }).then(undefined, () => undefined); // it may be gone
      }
    }, FOLLOW_DEBOUNCE_MS);
  }

  private context(name: string, value: unknown): void {
    void vscode.commands.executeCommand('setContext', `suspectra.${name}`, value);
  }
}

/** Failing tests that the listed suspects do not explain. */
function unexplainedItem({ folder, names, failure, uri, range, tests }: UnexplainedFailures): vscode.TreeItem {
  const item = new vscode.TreeItem(names);
  item.id = `unexplained ${folder}`;
  item.description = [failure && `— ${failure}`, t('executes none of these suspects')].filter(Boolean).join(' · ');
  item.tooltip = [t('The cause is probably elsewhere, such as in what these tests need from outside:'), ...tests].join(
    '\n',
  );
  item.contextValue = 'unexplained';
  item.iconPath = new vscode.ThemeIcon('question', new vscode.ThemeColor('list.errorForeground'));
  item.accessibilityInformation = { label: [t('Failure'), names, item.description].join(', ') };
  if (uri && range) {
    item.command = { command: 'suspectra.open', title: t('Open'), arguments: [{ uri, range }] };
  }
  return item;
}

/** A question that waits until it is answered. */
function offerItem(): vscode.TreeItem {
  const item = new vscode.TreeItem(t('Run affected tests on save?'));
  item.id = 'offer of runs';
  item.contextValue = 'offer';
  item.iconPath = new vscode.ThemeIcon('sync');
  item.tooltip = t('Rerun failing and affected tests automatically?');
  item.command = { command: ANSWER_RUN_OFFER, title: t('Rerun failing and affected tests automatically?') };
  return item;
}

/** The actions below a card. */
function actions(parent: CardRow): ActionRow[] {
  const action = (label: string, icon: string, command: string): ActionRow => ({ parent, label, icon, command });
  const { location, missing, package: wanted } = parent.card;
  return [
    ...(location && !missing ? [action(t('Go to Error'), 'go-to-file', GO_TO_ERROR)] : []),
    ...(wanted ? [action(t('Copy Install Command'), 'copy', 'suspectra.copyInstallCommand')] : []),
    ...(missing ? [action(t('Run the Other Tests'), 'run-all', 'suspectra.runOtherTests')] : []),
    ...(missing || wanted ? [action(t('Open Setting'), 'settings-gear', 'suspectra.openInterpreterSetting')] : []),
    ...(missing || wanted
      ? []
      : [
          action(t('Show Output'), 'output', 'suspectra.showOutput'),
          action(t('Run Again'), 'run-all', 'suspectra.runAgain'),
        ]),
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

function moreItem({ id, rows }: MoreRow): vscode.TreeItem {
  const label = rows.length === 1 ? t('1 more line') : t('{0} more lines', rows.length);
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = id;
  return item;
}

/** Whether a command was given on the row of a whole function. */
export function isFunction(argument: unknown): boolean {
  return typeof argument === 'object' && argument !== null && 'suspects' in argument && 'naming' in argument
    ? (argument as SuspectRow).suspects.length > 1
    : false;
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
