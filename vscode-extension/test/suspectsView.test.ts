import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';

import { Model } from '../src/model';
import { type FailureGroup, type GroupSuspects, methods, type Suspects } from '../src/protocol';
import { suspectOf, SuspectsView } from '../src/suspectsView';
import { defined, report, suspect } from './samples';
import { ScriptedServer, status } from './standins/server';
import { type Tree, workbench } from './standins/workbench';

const other = { ...suspect, uri: 'file:///project/tax.py', file: 'tax.py', function: 'rate', line: 3, endLine: 3 };
const examined = { ...suspect, examined: true };
const error: Suspects['collectionErrors'][number] = {
  ...{ collector: 'tests/test_a.py', exception: 'ImportError', message: 'no shop', folder: 'file:///project' },
  ...{ uri: 'file:///project/a.py', range: null, file: 'a.py', line: 4, test: null },
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
  view = new SuspectsView(model, memento as unknown as vscode.Memento);
  tree = defined(workbench.tree);
}

async function show(change: Partial<Suspects>): Promise<void> {
  server.answers[methods.suspects] = { ...report, ...change };
  server.changed.fire(status);
  await new Promise((resolve) => setImmediate(resolve));
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
  await show({ suspects: [{ ...suspect, findings: ['3 of 3 failing tests pass if this comes out false.'] }, other] });
  expect(tree.badge).toEqual({ value: 1, tooltip: 'Altering 1 line makes failing tests pass' });
});

/** The rows as a person sees them, those below others in a list of their own. */
function rows(parent?: Parameters<SuspectsView['getChildren']>[0]): unknown[] {
  return view.getChildren(parent).map((row) => {
    const { label } = view.getTreeItem(row);
    const below = rows(row);
    return below.length ? [label, below] : label;
  });
}

describe('the rows', () => {
  it('are the suspects, under a line that says what ranked them', async () => {
    await show({ suspects: [suspect, other] });
    expect(rows()).toEqual(['2–4  total', '2–4  rate']);
    expect(tree.message).toBe('Ochiai · 1 failed, 4 passed');
    expect(workbench.context).toMatchObject({
      'suspectra.state': 'ready',
      'suspectra.hasSuspects': true,
      'suspectra.empty': '',
    });
  });

  it('open their line, and say why in a tooltip', async () => {
    await show({});
    const [row] = view.getChildren();
    const item = view.getTreeItem(defined(row));
    expect(item.command).toMatchObject({ command: 'suspectra.open', arguments: [suspect] });
    expect(item.accessibilityInformation?.label).toContain('high suspicion');
    const { tooltip } = view.resolveTreeItem(item, defined(row));
    expect((tooltip as vscode.MarkdownString).value).toContain('3 of 3 failing and 3 of 45 passing tests execute it.');
  });

  it('are grouped, in this workspace from now on', async () => {
    await show({ suspects: [suspect, other] });
    await view.group('file');
    expect(rows()).toEqual([
      ['cart.py', ['2–4  total']],
      ['tax.py', ['2–4  rate']],
    ]);
    const [group] = view.getChildren();
    expect(view.getParent(defined(view.getChildren(group)[0]))).toBe(group);
    expect(tree.description).toBe('by file');
    view.dispose();
    open();
    expect(workbench.context['suspectra.grouping']).toBe('file');
  });

  it('are not grouped where the memory contains what is no grouping', () => {
    view.dispose();
    memory.set('suspectra.grouping', 'by the moon');
    open();
    expect(workbench.context['suspectra.grouping']).toBe('none');
  });

  it('are pale once they are examined, and hidden once all are', async () => {
    await show({ suspects: [examined, other] });
    const { resourceUri, contextValue } = view.getTreeItem(defined(view.getChildren()[0]));
    expect(contextValue).toBe('suspect.examined');
    expect(view.provideFileDecoration(defined(resourceUri))?.color).toMatchObject({ id: 'disabledForeground' });
    await show({ suspects: [examined] });
    expect(rows()).toEqual([]);
    expect(workbench.context).toMatchObject({ 'suspectra.empty': 'allExamined', 'suspectra.hasSuspects': false });
    view.showExamined();
    expect(rows()).toHaveLength(1);
  });

  it('are cards where a run failed, with what can be done', async () => {
    await show({ suspects: [], collectionErrors: [error] });
    expect(rows()).toEqual([['ImportError: no shop', ['Go to Error', 'Show Output', 'Run Again']]]);
    const [card] = view.getChildren();
    const [go] = view.getChildren(card);
    expect(view.getTreeItem(defined(go))).toMatchObject({
      description: 'a.py:4',
      command: { command: 'suspectra.goToError' },
    });
  });
});

describe('failure groups', () => {
  const current: FailureGroup = {
    ...{ folder: 'file:///project', id: 1, title: 'KeyError at cart.py:5', sure: true, current: true },
    ...{ heading: '✗ 2 tests: KeyError at cart.py:5', tests: ['t1', 't2'], uncovered: ['t2'] },
  };
  const second = {
    ...current,
    id: 4,
    heading: '✗ perhaps 1 test: OSError',
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
    expect(rows()).toEqual([['2 tests: KeyError at cart.py:5', ['2–4  total']], 'perhaps 1 test: OSError']);
    expect(server.calls).not.toContainEqual([methods.group, { folder: 'file:///project', id: 4 }]);
    expect(workbench.context['suspectra.hasGroups']).toBe(true);
    expect(tree.message).toBe('Ochiai · 1 failed in perhaps 2 groups, 4 passed');
    const row = defined(view.getChildren()[1]);
    tree.expand(row);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.calls).toContainEqual([methods.group, { folder: 'file:///project', id: 4 }]);
    expect(rows()[1]).toEqual(['perhaps 1 test: OSError', ['2–4  rate']]);
    await show2(); // what is open stays so when there is another ranking
    await new Promise((resolve) => setImmediate(resolve));
    expect(rows()[1]).toEqual(['perhaps 1 test: OSError', ['2–4  rate']]);
    tree.collapse(row);
    await show2();
    expect(rows()[1]).toBe('perhaps 1 test: OSError');
  });

  it('say which is current, and what their tests have in common', async () => {
    await show2();
    const [one, two] = view.getChildren().map((row) => view.resolveTreeItem(view.getTreeItem(row), row));
    expect(one).toMatchObject({ description: 'current', contextValue: 'failureGroup.current' });
    expect(two).toMatchObject({ description: '', contextValue: 'failureGroup' });
    expect((defined(one).tooltip as vscode.MarkdownString).value).toContain('- `t2` (executes no suspect)');
  });

  it('are grouped further', async () => {
    await show2();
    await view.group('file');
    expect(rows()[0]).toEqual(['2 tests: KeyError at cart.py:5', [['cart.py', ['2–4  total']]]]);
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
    expect(rows()).toEqual(['2–4  rate']);
    expect(tree.message).toContain('1 of 2 match “rate”');
    input.hide();
    expect(rows()).toEqual(['2–4  total']);
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
    expect(tree.revealed).toEqual([view.getChildren()[0]]);
    workbench.edit('/project/shop/cart.py', 11); // of the same suspect
    vi.runAllTimers();
    expect(tree.revealed).toHaveLength(1);
  });

  it('goes along with the steps of a command', () => {
    view.reveal({ uri: other.uri, range: { start: { line: 2, character: 0 }, end: { line: 2, character: 0 } } });
    vi.runAllTimers();
    expect(tree.revealed).toEqual([view.getChildren()[1]]);
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
