import { afterEach, beforeEach, expect, it } from 'vitest';

import { CausesView } from '../src/runs/causes';
import { Model } from '../src/model';
import { type Causes, type ComparedRuns, methods, serverCommands, type Step } from '../src/protocol';
import type { StepsView } from '../src/runs/stepsView';
import { defined, report } from './samples';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

const range = { start: { line: 4, character: 4 }, end: { line: 4, character: 20 } };
const step: Step = {
  ...{
    uri: 'file:///project/fee.py',
    range,
    file: 'fee.py',
    line: 5,
    source: 'base = base + 2',
    instance: 1,
    rounds: 1,
  },
  ...{ value: '`base` is 502, not 500', why: 'since', steps: [], more: 0 },
};
const compared: ComparedRuns = {
  ...{ folder: 'file:///project', test: 'test_fee.py::test_member', technique: 'cause-transitions', similar: true },
  ...{ passing: 'test_fee.py::test_guest', found: 'test_guest passes.', report: [], chain: [step], after: [] },
  ...{ notes: ['The time was up.'], candidates: 1, complete: true, seconds: 0.5, problems: [] },
};
const causes: Causes = {
  ...{ folder: 'file:///project', test: 'test_fee.py::test_member', found: 'the cause is fee.py:5', searching: false },
  ...{ roots: [step], chain: [step], transitive: [], around: [], alterations: 3, complete: true, seconds: 1 },
  problems: [],
};
let server: ScriptedServer;
let view: CausesView;

beforeEach(async () => {
  workbench.reset('/project');
  server = new ScriptedServer();
  server.answers[methods.suspects] = report;
  server.answers[methods.causes] = null;
  server.answers[methods.comparison] = null;
  view = new CausesView(server.server, new Model(server.server));
  server.changed.fire(status);
  await settled();
});

afterEach(() => view.dispose());

const rows = () => (workbench.causes?.provider as StepsView).getChildren();
const settled = () => new Promise((done) => setTimeout(done));

it('shows what makes the difference to a run that passes, until it is cleared', async () => {
  expect(rows()).toEqual([]);
  server.answers[methods.comparison] = compared;
  server.executed.fire({ command: serverCommands.comparePassing, result: compared });
  await settled();
  expect(rows()).toEqual([{ heading: 'What makes the difference for test_member', steps: [step] }]);
  server.answers[methods.comparison] = null;
  server.executed.fire({ command: serverCommands.clearComparison, result: true });
  await settled();
  expect(rows()).toEqual([]);
});

it('says how a search ended where the view is hidden', async () => {
  const search = async (searching: boolean) => {
    server.answers[methods.causes] = { ...causes, searching };
    server.changed.fire(status);
    await settled();
  };
  await search(true);
  await search(false);
  expect(workbench.informed).toEqual([]);
  defined(workbench.causes).visible = false;
  await search(true);
  await search(false);
  expect(workbench.informed).toEqual(['Suspectra: the cause is fee.py:5']);
});

it('leaves out two runs that only part: their decisions have a diagnostic', async () => {
  server.answers[methods.comparison] = { ...compared, chain: [], report: [step] };
  server.executed.fire({ command: serverCommands.comparePassing, result: compared });
  await settled();
  expect(rows()).toEqual([]);
});
