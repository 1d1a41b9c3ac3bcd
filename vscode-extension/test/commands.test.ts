import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';

import { registerCommands } from '../src/commands';
import { Model } from '../src/model';
import { type Jump, methods, type MoveMessage, serverCommands } from '../src/protocol';
import type { Slices } from '../src/runs/slices';
import { StatusItem } from '../src/status';
import { Testing } from '../src/testing/testing';
import { TestingView } from '../src/testing/testingView';
import { SuspectsView } from '../src/suspects/suspectsView';
import { RunOffer } from '../src/testing/runOffer';
import { defined, failure, report, suspect } from './samples';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

let server: ScriptedServer;
let all: vscode.Disposable;

beforeEach(async () => {
  workbench.reset('/project');
  server = new ScriptedServer();
  server.answers[methods.suspects] = report;
  const model = new Model(server.server);
  const memory = { get: (_key: string, otherwise: unknown) => otherwise, update: () => Promise.resolve() };
  const memento = memory as unknown as vscode.Memento;
  const offer = new RunOffer(model, memento);
  const view = new SuspectsView(model, memento, offer);
  const bar = new StatusItem(model);
  const testing = new Testing(server.server, model);
  const slices = {} as unknown as Slices;
  all = vscode.Disposable.from(
    offer,
    registerCommands({
      server: server.server,
      model,
      view,
      status: bar,
      slices,
      testing,
      testingView: new TestingView(server.server),
    }),
    ...[view, bar, testing, model],
  );
  server.changed.fire(status);
  await settled();
  server.calls.length = 0;
});
afterEach(() => {
  all.dispose();
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const give = (name: string, argument?: unknown) => vscode.commands.executeCommand(`suspectra.${name}`, argument);
const line = suspect.range.start.line;

it('are all that the manifest contributes, and no more but those of the view’s cards', () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
    contributes: { commands: { command: string }[] };
  };
  const contributed = manifest.contributes.commands.map(({ command }) => command);
  const own = ['answerRunOffer', 'goToError', 'copyInstallCommand', 'runOtherTests', 'openInterpreterSetting'].map(
    (name) => `suspectra.${name}`,
  );
  expect([...workbench.registered.keys()].sort()).toEqual([...contributed, ...own].sort());
  all.dispose();
  expect(workbench.registered.size).toBe(0);
});

describe('finding out what would make tests pass', () => {
  const given = () => server.calls.filter(([name]) => name === serverCommands.investigate).map(([, ...rest]) => rest);

  it('is about the row, the test or the folder on which it was asked for', async () => {
    const failure = { folder: 'file:///project', id: 1, title: '', heading: '', sure: true, uncovered: [] };
    await give('investigate');
    await give('investigate', { failure: { ...failure, tests: ['t1', 't2'], current: true }, rows: [] });
    await give('investigate', { group: { key: 't3', label: 't3', test: 't3', suspects: [suspect] }, rows: [] });
    await give('investigate', { suspect, parent: undefined });
    await give('investigate', [...defined(workbench.tests).items][0]?.[1]);
    expect(given()).toEqual([
      [null, null, null],
      ['file:///project', ['t1', 't2']],
      ['file:///project', ['t3']],
      ['file:///project', suspect.failingTests],
      ['file:///project', null],
    ]);
  });

  it('can be a comparison of values with passing tests', async () => {
    await give('compareValues', { suspect, parent: undefined });
    expect(server.calls).toEqual([[serverCommands.compareValues, 'file:///project', suspect.failingTests]]);
  });

  it('can be a comparison with a run that is found in a way that the user chooses', async () => {
    const chosen = {
      name: 'apg',
      title: 'Automated path generation',
      paper: '',
      description: 'Most faults.',
      clones: false,
    };
    server.answers[methods.techniques] = [chosen];
    await give('chooseComparison', { suspect, parent: undefined }); // the list is closed
    workbench.answer = chosen.title;
    await give('chooseComparison', { suspect, parent: undefined });
    const listed = [methods.techniques, { for: 'paths' }];
    expect(server.calls).toEqual([
      listed,
      listed,
      [serverCommands.comparePassing, 'file:///project', suspect.failingTests[0], null, 'apg'],
    ]);
  });

  it('can end in taking back a change, on the line of a row or of a panel', async () => {
    await give('undoChange', { suspect, parent: undefined });
    await give('undoChange', { uri: 'file:///a.py', line: 3 });
    expect(server.calls).toEqual([
      [serverCommands.undoChange, suspect.uri, line],
      [serverCommands.undoChange, 'file:///a.py', 3],
    ]);
  });

  it('can be about a suspect alone, and can be cancelled', async () => {
    await give('testSuspect', { suspect, parent: undefined });
    await give('cancelInvestigation');
    expect(server.calls).toEqual([
      [serverCommands.testSuspect, suspect.uri, line],
      [serverCommands.cancelInvestigation],
    ]);
  });
});

describe('failure groups', () => {
  const one = {
    ...failure,
    ...{ folder: 'file:///project', id: 1, title: 'KeyError', heading: '✗ 2 tests: KeyError', sure: true },
    ...{ tests: ['t1', 't2'], uncovered: [], current: true },
  };
  const two = { ...one, id: 2, heading: '✗ 1 test: OSError', tests: ['t3'], current: false };
  beforeEach(async () => {
    server.answers[methods.suspects] = { ...report, suspects: [{ ...suspect, group: 1 }], groups: [one, two] };
    server.changed.fire(status);
    await settled();
    server.calls.length = 0;
  });

  it('are chosen from a list, or by their row', async () => {
    workbench.answer = '1 test: OSError';
    await give('selectGroup');
    await give('selectGroup', { failure: two, rows: [] });
    const selected = [serverCommands.selectGroup, 'file:///project', 2];
    expect(server.calls).toEqual([selected, selected]);
  });

  it('become the current one when something is done with one of their suspects', async () => {
    await give('open', { suspect: { ...suspect, group: 2 } });
    expect(server.calls).toEqual([[serverCommands.selectGroup, 'file:///project', 2]]);
    expect(workbench.opened).toHaveLength(1);
    await give('open', { suspect: { ...suspect, group: 1 } });
    expect(server.calls).toHaveLength(1);
  });

  it('are merged, split and reset', async () => {
    workbench.answer = '1 test: OSError';
    await give('mergeGroups', { failure: one, rows: [] });
    workbench.answer = 't2';
    await give('splitGroup');
    await give('resetGroups');
    expect(server.calls).toEqual([
      [serverCommands.mergeGroups, 'file:///project', [1, 2]],
      [serverCommands.splitGroup, 'file:///project', 1, ['t2']],
      [serverCommands.resetGroups],
    ]);
    expect(workbench.statusMessages.at(-1)).toContain('No failure group was changed');
  });
});

describe('a step', () => {
  it('starts at the cursor', async () => {
    workbench.edit('/project/shop/cart.py', 4);
    server.answers[serverCommands.nextSuspect] = { uri: suspect.uri, range: suspect.range };
    await give('nextSuspect');
    expect(server.calls).toMatchObject([
      [serverCommands.nextSuspect, { uri: suspect.uri, position: { line: 4, character: 0 } }],
    ]);
    expect(workbench.statusMessages).toEqual([]);
  });

  it('starts anywhere where there is no cursor, and says when there is nowhere to go', async () => {
    await give('previousSuspect');
    await give('back');
    expect(server.calls).toEqual([[serverCommands.previousSuspect, null], [serverCommands.back]]);
    expect(workbench.statusMessages).toEqual([
      '$(search) There are no suspects to go to',
      '$(search) This is where you began',
    ]);
  });
});

describe('a command about a line', () => {
  it.each([
    ['a row of the view', { suspect, parent: undefined }, [suspect.uri, line]],
    ['a suspect', suspect, [suspect.uri, line]],
    ['a place in a panel', { uri: 'file:///project/a.py', line: 7 }, ['file:///project/a.py', 7]],
    ['the line with the cursor', undefined, ['file:///project/shop/cart.py', 4]],
  ])('is about %s', async (_what, argument, place) => {
    workbench.edit('/project/shop/cart.py', 4);
    server.answers[serverCommands.explain] = {};
    await give('explain', argument);
    expect(server.calls).toEqual([[serverCommands.explain, ...place]]);
    expect(workbench.statusMessages).toEqual([]);
  });

  it('is about the whole function where its row marks several lines', async () => {
    const row = { suspect, suspects: [suspect, suspect], naming: 'function', rows: [] };
    server.answers[serverCommands.markExamined] = true;
    await give('markExamined', row);
    await give('markExamined', { ...row, suspects: [suspect] });
    expect(server.calls).toEqual([
      [serverCommands.markExamined, suspect.uri, line, 'function'],
      [serverCommands.markExamined, suspect.uri, line],
    ]);
  });

  it('says so where the line is not a suspect', async () => {
    workbench.edit('/project/shop/cart.py', 0);
    await give('markInnocent');
    expect(workbench.statusMessages).toEqual(['$(search) This line is not a suspect']);
  });

  it('asks for a line where there is none', async () => {
    await give('markExamined');
    expect(workbench.errors).toEqual(['Suspectra: Put the cursor on a suspect first.']);
    expect(server.calls).toEqual([]);
  });
});

describe('a run of the tests', () => {
  it('is of the only folder', async () => {
    await give('runTests');
    expect(server.calls).toEqual([[serverCommands.runTests]]);
  });

  it('is of the folders that are chosen, that of the editor first', async () => {
    workbench.reset('/project', '/bank');
    all.dispose();
    registerCommands({ server: server.server } as Parameters<typeof registerCommands>[0]);
    workbench.answer = 'bank';
    await give('runTests');
    workbench.answer = 'All Folders';
    await give('runTests');
    workbench.answer = undefined; // Escape
    await give('runTests');
    expect(server.calls).toEqual([
      [serverCommands.runTests, ['file:///bank']],
      [serverCommands.runTests, ['file:///project', 'file:///bank']],
    ]);
    expect(workbench.errors).toEqual([]);
  });

  it('that is rejected says why', async () => {
    server.answers[serverCommands.runTests] = () => Promise.reject(new Error('The tests are running already.'));
    await give('runTests');
    expect(workbench.errors).toEqual(['Suspectra: The tests are running already.']);
  });

  it('is repeated in the folder of the run that failed', async () => {
    await give('runAgain', { key: 'k', tooltip: '', folder: 'file:///project' });
    expect(server.calls).toEqual([[serverCommands.runTests, ['file:///project']]]);
  });

  it('is repeated for the failing tests of a row', async () => {
    await give('runAgain', { failure, rows: [] });
    await give('runAgain', { group: { key: 't3', label: 't3', test: 't3', suspects: [suspect] }, rows: [] });
    expect(server.calls).toEqual([
      [serverCommands.runTests, ['file:///project'], { 'file:///project': failure.tests }],
      [serverCommands.runTests, ['file:///project'], { 'file:///project': ['t3'] }],
    ]);
  });
});

describe('a jump', () => {
  const move: MoveMessage = {
    ...{ uri: suspect.uri, range: suspect.range, file: 'shop/cart.py', line: 12, function: 'Cart.total', source: 'x' },
    ...{ rankBest: 2, rankWorst: 4, steps: 3, probability: 0.5, reasons: ['same function'] },
  };
  const offer: Jump = { origin: { ...move, line: 5 }, moves: [move], plan: null, chosen: null };

  async function ask(answer = offer): Promise<void> {
    workbench.edit('/project/shop/cart.py', 4);
    server.answers[serverCommands.jump] = answer;
    void give('jump');
    await settled();
  }

  it('goes to the place that is chosen, and the list leaves no listener', async () => {
    await ask();
    const list = defined(workbench.input);
    expect(list.items.map(({ label }) => label)).toEqual(['Most likely first', '50 %  total']);
    list.enter('50 %  total');
    await settled();
    expect(server.calls.at(-1)).toMatchObject([serverCommands.jump, {}, { to: { uri: suspect.uri, line } }]);
    expect([list.disposed, list.listeners]).toEqual([true, 0]);
  });

  it('begins with the places that lead to the fault soon', async () => {
    const saved = 'This order saves about 14 steps';
    await ask({ ...offer, plan: { places: [{ ...move, function: 'Cart.add' }], saved } });
    const list = defined(workbench.input);
    expect(list.placeholder).toBe(saved);
    expect(list.items.map(({ label }) => label)).toEqual([
      'To find the fault soon',
      '1.  add',
      'Most likely first',
      '50 %  total',
    ]);
    list.enter('1.  add');
    await settled();
    expect(server.calls.at(-1)).toMatchObject([serverCommands.jump, {}, { to: { uri: suspect.uri, line } }]);
  });

  it('goes nowhere after Escape', async () => {
    await ask();
    workbench.input?.hide();
    await settled();
    expect(server.calls).toHaveLength(1);
  });

  it('says when there is nowhere to go', async () => {
    await give('jump', { uri: suspect.uri, line: 4 });
    expect(workbench.statusMessages).toEqual(['$(search) There is nowhere to go from here']);
  });
});

describe('the list of techniques', () => {
  const techniques = ['ochiai', 'dstar', 'evidence'].map((name) => ({
    name,
    title: name,
    paper: '',
    description: '',
    clones: name !== 'evidence',
  }));

  it('uses the one that is chosen', async () => {
    server.answers[methods.techniques] = techniques;
    const given = give('selectTechnique');
    await settled();
    expect(workbench.input?.items.map(({ label }) => label)).toEqual([
      'ochiai',
      'dstar',
      'evidence',
      '',
      'Clone failing tests',
    ]);
    workbench.input?.enter('dstar');
    await given;
    expect(server.calls.at(-1)).toEqual([serverCommands.selectTechnique, 'dstar', { cloneFailed: false }]);
  });

  it('offers clones beside formulas only, and says nothing of them to other techniques', async () => {
    server.answers[methods.techniques] = techniques;
    const fromFormula = give('selectTechnique');
    await settled();
    workbench.input?.enter('evidence');
    await fromFormula;
    expect(server.calls.at(-1)).toEqual([serverCommands.selectTechnique, 'evidence']);
    server.answers[methods.suspects] = { ...report, technique: 'evidence' };
    server.changed.fire(status);
    await settled();
    const fromEvidence = give('selectTechnique');
    await settled();
    expect(workbench.input?.items.map(({ label }) => label)).toEqual(['evidence', 'ochiai', 'dstar']);
    workbench.input?.enter('ochiai');
    await fromEvidence;
    expect(server.calls.at(-1)).toEqual([serverCommands.selectTechnique, 'ochiai']);
  });
});

it('open a suspect, and the place of an error', async () => {
  await give('open', suspect);
  await give('goToError', { key: 'k', tooltip: '', location: { uri: 'file:///project/a.py', line: 3, character: 4 } });
  await give('goToError', { key: 'k', tooltip: '', location: undefined });
  expect(workbench.opened).toEqual(['/project/shop/cart.py:12', '/project/a.py:4']);
});

it('record in a terminal, or put the command line into the clipboard', async () => {
  server.answers[methods.commandLine] = { commandLine: 'suspectra record -- pytest' };
  await give('recordInTerminal');
  await give('copyCommandLine');
  expect(server.calls[0]).toEqual([methods.commandLine, { folder: 'file:///project' }]);
  expect([workbench.sent, workbench.clipboard]).toEqual([['suspectra record -- pytest'], 'suspectra record -- pytest']);
});

it('configure and build with coverage in a terminal', async () => {
  server.answers[methods.commandLine] = { commandLine: 'suspectra build-c' };
  await give('configureBuild');
  expect(server.calls[0]).toEqual([methods.commandLine, { folder: 'file:///project', build: true }]);
  expect(workbench.sent).toEqual(['suspectra build-c']);
});

it('say what was learned, and that it is forgotten', async () => {
  const learned = { consent: true, jumps: 3, returns: 1, pJump: 0.7, low: 0.3, high: 0.9, file: '/x' };
  server.answers[serverCommands.showLearned] = learned;
  await give('showLearned');
  await give('resetLearned');
  expect(workbench.informed).toEqual([expect.stringContaining('3 of your 4 moves were jumps.')]);
  expect(workbench.statusMessages).toEqual(['$(search) Nothing was learned yet']);
});

it('offer for compiled programs only what works for them', async () => {
  const offered = vi.spyOn(vscode.window, 'showQuickPick');
  const lists = async () => {
    offered.mockClear();
    await give('experiments');
    await give('menu');
    return offered.mock.calls.map(([rows]) => (rows as unknown as { label: string }[]).map(({ label }) => label));
  };
  expect((await lists())[0]).toHaveLength(8);
  server.changed.fire({ ...status, compiled: true });
  await settled();
  const [experiments, menu] = await lists();
  expect(experiments).toEqual([
    'Why does it fail?',
    'Find out what would make it pass',
    'Compare with a passing run',
    'Compare values with passing tests',
  ]);
  expect(menu).toEqual(expect.arrayContaining(['Why Does It Fail?', 'Find Out What Would Make It Pass']));
  expect(menu).not.toContain('Find a Fix');
  server.changed.fire({ ...status, compiled: true, onlyRead: true });
  await settled();
  expect((await lists())[1]).not.toContain('Why Does It Fail?');
});

it('reach the view, the status item and the server', async () => {
  await give('filter');
  workbench.input?.type('nothing like this');
  expect(workbench.context['suspectra.empty']).toBe('noMatch');
  await give('clearFilter');
  await give('groupBy.test');
  expect(workbench.context).toMatchObject({ 'suspectra.filtered': false, 'suspectra.grouping': 'test' });
  await give('restart');
  await give('cancelInstallation');
  await give('showOutput');
  expect([server.restarts, server.cancelled, workbench.log]).toEqual([1, 1, ['shown']]);
  workbench.answer = 'Next Suspect';
  await give('menu');
  await settled();
  expect(server.calls).toEqual([[serverCommands.nextSuspect, null]]);
});
