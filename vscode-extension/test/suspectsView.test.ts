import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';

import { RunOffer } from '../src/testing/runOffer';
import { Model } from '../src/model';
import type { FailureGroup } from '../src/listed';
import { type GroupSuspects, methods, type Suspects } from '../src/protocol';
import { isFunction, suspectOf, SuspectsView } from '../src/suspects/suspectsView';
import { defined, failure, report, suspect } from './samples';
import { ScriptedServer, status } from './standins/server';
import { type Tree, workbench } from './standins/workbench';

const other = {
  ...{ ...suspect, uri: 'file:///project/tax.py', file: 'tax.py', function: 'rate', line: 3, endLine: 3 },
  functionRank: 2,
};
const below = { ...suspect, line: 20, endLine: 20, tie: 2, rankBest: 5, source: 'return 0' };
const TESTS = 'test_sum and 1 more';
const TOTAL = 'total:12–13';
const RATE = 'rate:3';
const examined = { ...suspect, examined: true };
const error: Suspects['collectionErrors'][number] = {
  ...{ collector: 'tests/test_a.py', exception: 'ImportError', message: 'no shop', folder: 'file:///project' },
  ...{ uri: 'file:///project/a.py', range: null, file: 'a.py', line: 4, test: null },
  ...{ missing: '', missingPackage: '', environment: '' },
};

let server: ScriptedServer;
let model: Model;
let view: SuspectsView;
let tree: Tree;
let memory: Map<string, unknown>;

function open(): void {
  const memento = {
    get: (key: string, otherwise: unknown) => memory.get(key) ?? otherwise,
    update: (key: string, value: unknown) => Promise.resolve(void memory.set(key, value)),
  };
  const offer = new RunOffer(model, memento as unknown as vscode.Memento);
  view = new SuspectsView(model, memento as unknown as vscode.Memento, offer);
  tree = defined(workbench.tree);
}

/** The server has other suspects, and VS Code draws them, at once or later. */
async function show(change: Partial<Suspects>, drawn = true): Promise<void> {
  server.answers[methods.suspects] = { ...report, ...change };
  server.changed.fire(status);
  await new Promise((resolve) => setImmediate(resolve));
  if (drawn) {
    view.getChildren();
  }
}

beforeEach(() => {
  workbench.reset('/project');
  memory = new Map();
  server = new ScriptedServer();
  model = new Model(server.server);
  open();
});
afterEach(() => {
  vi.useRealTimers();
  view.dispose();
  model.dispose();
});

it('counts on the view the suspects that were found to make failing tests pass', async () => {
  await show({});
  expect(tree.badge).toBeUndefined();
  await show({ suspects: [{ ...suspect, repairs: 1 }, other] });
  expect(tree.badge).toEqual({ value: 1, tooltip: 'Altering 1 line makes failing tests pass' });
});

it('says what stopped a run that the user started where the view is hidden, once', async () => {
  const run = async (onSave: boolean) => {
    const progress = { done: 0, failed: 0, total: 0, onSave };
    server.changed.fire({ ...status, state: 'runningTests', progress });
    await show({ collectionErrors: [error] });
  };
  await run(false);
  expect(workbench.informed).toEqual([]); // its card says it
  tree.visible = false;
  await run(true);
  expect(workbench.informed).toEqual([]);
  await run(false);
  await show({});
  expect(workbench.informed).toEqual(['Suspectra: ImportError: no shop']);
});

it('draws its rows anew only if they change, since a click on a row that is drawn anew is lost', async () => {
  let drawn = 0;
  view.onDidChangeTreeData(() => (drawn += 1));
  await show({});
  expect(drawn).toBe(1);
  const [row] = view.getChildren();
  server.changed.fire({ ...status, state: 'ranking' });
  await show({});
  view.setFilter(' ');
  expect([drawn, view.getChildren()[0] === row]).toEqual([1, true]);
  await show({ suspects: [{ ...suspect, rankWorst: 3 }, other] });
  expect([drawn, view.getChildren()[0] === row]).toEqual([2, false]);
  view.setFilter('rate');
  expect(drawn).toBe(3);
});

/** The rows as a person sees them, those below others in a list of their own. */
function rows(parent?: Parameters<SuspectsView['getChildren']>[0]): unknown[] {
  return view.getChildren(parent).map((row) => {
    const { label } = view.getTreeItem(row);
    const below = rows(row);
    return below.length ? [label, below] : label;
  });
}

/** The rows below the failing tests. */
function suspectRows(): ReturnType<SuspectsView['getChildren']> {
  return view.getChildren(view.getChildren()[0]);
}

describe('the rows', () => {
  it('are failing tests and functions, under a line that says what ranked them', async () => {
    await show({ suspects: [suspect, other, below] });
    expect(rows()).toEqual([[TESTS, [[TOTAL, ['line 12–13', 'line 20']], RATE]]]);
    expect(tree.message).toBe('Ochiai · 1 failed, 4 passed');
    expect(workbench.context).toMatchObject({
      'suspectra.state': 'ready',
      'suspectra.hasSuspects': true,
      'suspectra.hasGroups': false,
      'suspectra.empty': '',
    });
  });

  it('of failing tests say what failed, and open where', async () => {
    await show({});
    const row = defined(view.getChildren()[0]);
    const item = view.getTreeItem(row);
    expect(item).toMatchObject({
      description: '— AssertionError: expected 4, actual 3',
      contextValue: 'failureGroup.only',
      iconPath: { id: 'error' },
      command: { command: 'suspectra.open', arguments: [{ uri: failure.uri, range: failure.range }] },
      accessibilityInformation: { label: 'Failure, test_sum and 1 more, AssertionError: expected 4, actual 3' },
    });
    const { tooltip } = view.resolveTreeItem(item, row);
    expect((tooltip as vscode.MarkdownString).value).toContain('- `tests/test_cart.py::test_tax`');
  });

  it('of suspects open their line, and say why in a tooltip', async () => {
    await show({ suspects: [suspect, { ...below, raised: true }] });
    const [row] = suspectRows();
    const item = view.getTreeItem(defined(row));
    expect(item).toMatchObject({
      description: 'cart.py\u2002● raised here\u2002return total',
      contextValue: 'suspect',
      command: { command: 'suspectra.open', arguments: [suspect] },
    });
    expect(item.accessibilityInformation?.label).toContain('high suspicion');
    const { tooltip } = view.resolveTreeItem(item, defined(row));
    expect((tooltip as vscode.MarkdownString).value).toContain('3 of 3 failing and 3 of 45 passing tests execute it.');
    expect((tooltip as vscode.MarkdownString).value).toContain('raised here');
    expect((tooltip as vscode.MarkdownString).value).toContain(`**Rank ${suspect.functionRank}**`); // not of its line
    expect(isFunction(row)).toBe(true);
    expect(isFunction(view.getChildren(row)[0])).toBe(false);
  });

  it('of a function are its first three lines, and one for all others', async () => {
    const [third, fourth, fifth] = [22, 24, 26].map((line) => ({ ...below, line, endLine: line }));
    const some = [suspect, below, defined(third), other, defined(fourth), defined(fifth)];
    await show({ suspects: some });
    const first = ['line 12–13', 'line 20', 'line 22'];
    expect(rows()).toEqual([[TESTS, [[TOTAL, [...first, ['2 more lines', ['line 24', 'line 26']]]], RATE]]]);
    await show({ suspects: some.slice(0, -1) });
    expect(rows()).toEqual([[TESTS, [[TOTAL, [...first, ['1 more line', ['line 24']]]], RATE]]]);
  });

  it('name the file where two functions have one name', async () => {
    await show({ suspects: [suspect, { ...other, function: suspect.function }] });
    expect(rows()).toEqual([[TESTS, ['Cart.total:12–13', 'Cart.total:3']]]);
  });

  it('are at the top where nothing is known of failing tests', async () => {
    await show({ suspects: [suspect], groups: [] });
    expect(rows()).toEqual([TOTAL]);
  });

  it('are below the failing tests of their own folder', async () => {
    const inner = { ...failure, folder: 'file:///project/shop', names: 'test_inner' };
    await show({ suspects: [suspect, other], groups: [failure, inner] });
    expect(rows()).toEqual([
      [TESTS, [RATE]],
      ['test_inner', [TOTAL]],
    ]);
    expect(tree.message).toBe('Ochiai · 1 failed, 4 passed');
  });

  it('are grouped, in this workspace from now on', async () => {
    await show({ suspects: [suspect, other, below] });
    await view.group('file');
    expect(rows()).toEqual([
      [
        TESTS,
        [
          ['cart.py', [[TOTAL, ['line 12–13', 'line 20']]]],
          ['tax.py', [RATE]],
        ],
      ],
    ]);
    const [group] = suspectRows();
    expect(view.getParent(defined(view.getChildren(group)[0]))).toBe(group);
    expect(view.getTreeItem(defined(group)).description).toBe('shop · 2');
    expect(tree.description).toBe('by file');
    view.dispose();
    open();
    expect(workbench.context['suspectra.grouping']).toBe('file');
  });

  it('are lines for who wants these', async () => {
    await show({ suspects: [suspect, other, below] });
    await view.group('none');
    expect(rows()).toEqual([[TESTS, [TOTAL, RATE, 'total:20']]]);
    expect(tree.description).toBe('line by line');
  });

  it('are functions where the memory contains what is no grouping', () => {
    view.dispose();
    memory.set('suspectra.grouping', 'by the moon');
    open();
    expect(workbench.context['suspectra.grouping']).toBe('function');
  });

  it('marks what changed where a narrow view has room for it', async () => {
    await show({ suspects: [{ ...suspect, changed: 1 }, other] });
    const [changed, plain] = suspectRows().map((row) => view.getTreeItem(row));
    const mark = view.provideFileDecoration(defined(changed?.resourceUri));
    expect([mark?.badge, mark?.tooltip]).toEqual(['●', 'changed']);
    expect(plain?.resourceUri).toBeUndefined();
  });

  it('are pale once they are examined, and hidden once all are', async () => {
    await show({ suspects: [examined, other] });
    const { resourceUri, contextValue } = view.getTreeItem(defined(suspectRows()[0]));
    expect(contextValue).toBe('suspect.examined');
    expect(view.provideFileDecoration(defined(resourceUri))?.color).toMatchObject({ id: 'disabledForeground' });
    await show({ suspects: [examined] });
    expect(rows()).toEqual([]);
    expect(workbench.context).toMatchObject({ 'suspectra.empty': 'allExamined', 'suspectra.hasSuspects': false });
    view.showExamined();
    expect(rows()).toHaveLength(1);
  });

  it('are cards where a run failed, with what can be done', async () => {
    await show({ suspects: [], groups: [], collectionErrors: [error] });
    expect(rows()).toEqual([['ImportError: no shop', ['Go to Error', 'Show Output', 'Run Again']]]);
    const [card] = view.getChildren();
    const [go] = view.getChildren(card);
    expect(view.getTreeItem(defined(go))).toMatchObject({
      description: 'a.py:4',
      command: { command: 'suspectra.goToError' },
    });
  });
});

describe('the last row', () => {
  const labels = () => view.getChildren().map((row) => view.getTreeItem(row).label);

  it('asks about runs on save until that is answered', async () => {
    const progress = { done: 0, failed: 0, total: 0, onSave: false };
    server.changed.fire({ ...status, state: 'runningTests', progress });
    await show({ suspects: [suspect] });
    expect(labels().at(-1)).toBe('Run affected tests on save?');
    await show({ suspects: [{ ...suspect, line: 9 }] });
    expect(labels().at(-1)).toBe('Run affected tests on save?');
    workbench.answer = 'No';
    await workbench.commands.executeCommand(
      defined(view.getTreeItem(defined(view.getChildren().at(-1))).command).command,
    );
    expect(labels()).not.toContain('Run affected tests on save?');
  });

  it('asks nothing where nothing is suspected', async () => {
    memory.set('suspectra.runOffered', 'open');
    await show({ suspects: [] });
    expect(labels()).toEqual([]);
  });
});

describe('failure groups', () => {
  const current: FailureGroup = {
    ...{ ...failure, id: 1, title: 'KeyError at cart.py:5', names: 't1 and 1 more' },
    ...{ heading: '✗ 2 tests: KeyError at cart.py:5', tests: ['t1', 't2'], uncovered: ['t2'] },
  };
  const second = {
    ...current,
    id: 4,
    ...{ heading: '✗ perhaps 1 test: OSError', names: 't3', failure: 'OSError: no disk' },
    sure: false,
    tests: ['t3'],
    current: false,
  };
  const own = { ...suspect, group: 1 };
  const found: GroupSuspects = { reason: 'It executes tax.py:3.', suspects: [{ ...other, group: 4 }] };
  const show2 = () => show({ suspects: [own], groups: [current, second] });

  it('come first, the current one with its suspects; another is ranked when it is opened', async () => {
    server.answers[methods.group] = found;
    await show2();
    expect(rows()).toEqual([['t1 and 1 more', [TOTAL]], 't3']);
    expect(server.calls).not.toContainEqual([methods.group, { folder: 'file:///project', id: 4 }]);
    expect(workbench.context['suspectra.hasGroups']).toBe(true);
    expect(tree.message).toBe('Ochiai · 1 failed in perhaps 2 groups, 4 passed');
    const row = defined(view.getChildren()[1]);
    tree.expand(row);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.calls).toContainEqual([methods.group, { folder: 'file:///project', id: 4 }]);
    expect(rows()[1]).toEqual(['t3', [RATE]]);
    await show2(); // what is open stays so when there is another ranking
    await new Promise((resolve) => setImmediate(resolve));
    expect(rows()[1]).toEqual(['t3', [RATE]]);
    server.answers[methods.group] = { ...found, suspects: [] };
    await show2(); // nor does the report say that another group's ranking has changed
    await new Promise((resolve) => setImmediate(resolve));
    expect(rows()[1]).toBe('t3');
    tree.collapse(row);
    const asked = server.calls.length;
    await show({ suspects: [{ ...own, score: 0.2 }], groups: [current, second] });
    expect(rows()[1]).toBe('t3');
    expect(server.calls.slice(asked).map(([method]) => method)).toEqual([methods.suspects]);
  });

  it('say which is current, and what their tests have in common', async () => {
    await show2();
    const [one, two] = view.getChildren().map((row) => view.resolveTreeItem(view.getTreeItem(row), row));
    expect(one).toMatchObject({ contextValue: 'failureGroup.current', iconPath: { id: 'target' } });
    expect(one?.accessibilityInformation?.label).toMatch(/^Failure group, t1 and 1 more, .*, current$/);
    expect(two).toMatchObject({ contextValue: 'failureGroup', iconPath: { id: 'error' } });
    expect(two?.accessibilityInformation?.label).toBe('Failure group, t3, OSError: no disk');
    expect((defined(one).tooltip as vscode.MarkdownString).value).toContain('- `t2` (executes no suspect)');
  });

  it('are grouped further', async () => {
    await show2();
    await view.group('file');
    expect(rows()[0]).toEqual(['t1 and 1 more', [['cart.py', [TOTAL]]]]);
  });
});

describe('the filter', () => {
  it('takes effect as it is typed, and Escape brings the last one back', async () => {
    await show({ suspects: [suspect, other] });
    view.setFilter('cart.total');
    view.askForFilter();
    const input = defined(workbench.input);
    expect(input.value).toBe('cart.total');
    input.type('rate');
    expect(rows()).toEqual([[TESTS, [RATE]]]);
    expect(tree.message).toContain('1 of 2 match “rate”');
    input.hide();
    expect(rows()).toEqual([[TESTS, [TOTAL]]]);
    expect(input.disposed).toBe(true);
  });

  it('stays when it is accepted, and says when nothing matches', async () => {
    await show({ suspects: [suspect, other] });
    view.askForFilter();
    workbench.input?.type('nothing like this');
    workbench.input?.enter();
    expect(rows()).toEqual([]);
    expect(workbench.context).toMatchObject({ 'suspectra.empty': 'noMatch', 'suspectra.filtered': true });
  });
});

describe('the selection', () => {
  beforeEach(async () => {
    await show({ suspects: [suspect, other] });
    vi.useFakeTimers();
  });

  it('follows the cursor, when it rests', () => {
    workbench.edit('/project/tax.py', 2);
    workbench.edit('/project/shop/cart.py', 12);
    expect(tree.revealed).toEqual([]);
    vi.runAllTimers();
    expect(tree.revealed).toEqual([suspectRows()[0]]);
    workbench.edit('/project/shop/cart.py', 11); // of the same suspect
    vi.runAllTimers();
    expect(tree.revealed).toHaveLength(1);
  });

  it('goes along with the steps of a command', () => {
    view.reveal({ uri: other.uri, range: { start: { line: 2, character: 0 }, end: { line: 2, character: 0 } } });
    vi.runAllTimers();
    expect(tree.revealed).toEqual([suspectRows()[1]]);
  });

  it('is the line of a function that is open, and else the function', async () => {
    vi.useRealTimers();
    await show({ suspects: [suspect, below] });
    vi.useFakeTimers();
    workbench.edit('/project/shop/cart.py', 19);
    vi.runAllTimers();
    const [row] = suspectRows();
    expect(tree.revealed).toEqual([row]);
    tree.expand(defined(row));
    workbench.edit('/project/shop/cart.py', 20);
    workbench.edit('/project/shop/cart.py', 19);
    vi.runAllTimers();
    expect(tree.revealed.at(-1)).toBe(view.getChildren(row)[1]);
  });

  it('is the row that hides the line, as far as rows are open', async () => {
    vi.useRealTimers();
    await show({ suspects: [20, 22, 24, 26].map((line) => ({ ...below, line, endLine: line })) });
    vi.useFakeTimers();
    const [row] = suspectRows();
    const more = defined(view.getChildren(row).at(-1));
    const goes = () => {
      workbench.edit('/project/shop/cart.py', 30);
      workbench.edit('/project/shop/cart.py', 25);
      vi.runAllTimers();
      return tree.revealed.at(-1);
    };
    expect(goes()).toBe(row);
    tree.expand(defined(row));
    expect(goes()).toBe(more);
    tree.expand(more);
    expect(goes()).toBe(view.getChildren(more)[0]);
  });

  it('waits until the rows are drawn, as another view may be opened meanwhile', async () => {
    vi.useRealTimers();
    await show({ suspects: [other, suspect] }, false);
    vi.useFakeTimers();
    workbench.edit('/project/tax.py', 2);
    vi.advanceTimersByTime(5000);
    expect(tree.revealed).toEqual([]);
    tree.visible = false;
    view.getChildren();
    vi.runAllTimers();
    expect(tree.revealed).toEqual([]);

    tree.visible = true;
    workbench.edit('/project/tax.py', 2);
    vi.runAllTimers();
    expect(tree.revealed).toEqual([suspectRows()[0]]);
  });

  it('stays where it is while the view is hidden', () => {
    tree.visible = false;
    workbench.edit('/project/tax.py', 2);
    vi.runAllTimers();
    expect(tree.revealed).toEqual([]);
  });
});

it('tells on which suspect a command was given', () => {
  expect(suspectOf({ suspect, parent: undefined })).toBe(suspect);
  expect(suspectOf(suspect)).toBe(suspect);
  expect([undefined, null, 'text', { uri: suspect.uri, line: 3 }].map(suspectOf)).toEqual(Array(4).fill(undefined));
});
