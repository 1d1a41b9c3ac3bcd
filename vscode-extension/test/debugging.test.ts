import { afterEach, beforeEach, expect, it } from 'vitest';
import * as vscode from 'vscode';

import { Debugging, DEBUGGER } from '../src/runs/debugging';
import { type DebugLaunch, serverCommands } from '../src/protocol';
import { SourceBreakpoint } from './standins/debug';
import { ScriptedServer } from './standins/server';
import { workbench } from './standins/workbench';

const CART = 'file:///project/cart.py';
const at = (line: number) => ({ uri: CART, range: new vscode.Range(line, 4, line, 9) });
const launch: DebugLaunch = {
  folder: 'file:///project',
  test: 'test_cart.py::test_sum',
  root: '/project',
  python: '/venv/bin/python',
  module: 'pytest',
  arguments: ['-q', 'test_cart.py::test_sum'],
  commandLine: 'python -m debugpy --listen 5678 -m pytest -q test_cart.py::test_sum',
  stops: [at(7)],
};
const kept = new Map<string, unknown>();
const memory = {
  get: (key: string, otherwise: unknown) => kept.get(key) ?? otherwise,
  update: (key: string, value: unknown) => Promise.resolve(kept.set(key, value)),
} as unknown as vscode.Memento;
const breakpoint = (line: number, enabled = true, condition?: string) =>
  new SourceBreakpoint(new vscode.Location(vscode.Uri.parse(CART), new vscode.Position(line, 0)), enabled, condition);

let server: ScriptedServer;
let debugging: Debugging;

beforeEach(() => {
  workbench.reset('/project');
  kept.clear();
  server = new ScriptedServer();
  debugging = new Debugging(server.server, memory);
});
afterEach(() => {
  debugging.dispose();
});

async function give(result: DebugLaunch | null, command: string = serverCommands.debugHere): Promise<void> {
  server.executed.fire({ command, result });
  await new Promise((resolve) => setImmediate(resolve));
}

it('runs the test alone, in its folder, with the code of libraries', async () => {
  await give(launch);
  expect(workbench.debug.started).toMatchObject([
    {
      ...{ type: 'debugpy', request: 'launch', module: 'pytest', args: launch.arguments, cwd: '/project' },
      ...{ python: '/venv/bin/python', justMyCode: false },
    },
  ]);
  await give({ ...launch, python: null });
  expect(workbench.debug.started[1]).not.toHaveProperty('python');
});

it('has its breakpoint as long as its session', async () => {
  await give(launch);
  expect(workbench.debug.lines).toEqual([7]);
  workbench.debug.end(0);
  expect(workbench.debug.lines).toEqual([]);
});

it('keeps a breakpoint that two sessions need until both have ended', async () => {
  await give(launch);
  await give({ ...launch, stops: [at(7), at(8)] }, serverCommands.debugChain);
  workbench.debug.end(0);
  expect(workbench.debug.lines).toEqual([7, 8]);
  workbench.debug.end(1);
  expect(workbench.debug.lines).toEqual([]);
});

it('leaves the breakpoints of the user as they were', async () => {
  const own = [breakpoint(7, true, 'price > 3'), breakpoint(8, false), breakpoint(9)];
  workbench.debug.addBreakpoints(own);
  await give({ ...launch, stops: [at(7), at(8)] });
  expect(workbench.debug.breakpoints.filter(({ enabled }) => enabled)).toHaveLength(3);
  expect(workbench.debug.lines).toEqual([7, 8, 9]);
  workbench.debug.end(0);
  expect(new Set(workbench.debug.breakpoints)).toEqual(new Set(own));
});

it('takes its breakpoint back if nothing starts', async () => {
  workbench.debug.starts = false;
  await give(launch);
  expect(workbench.debug.lines).toEqual([]);
  expect(workbench.errors).toEqual([expect.stringContaining('The debugger did not start')]);
});

it('removes what a closed window has left behind', async () => {
  await give(launch);
  debugging.dispose();
  expect(workbench.debug.lines).toEqual([]);
  kept.set('suspectra.breakpoints', [{ uri: CART, line: 7 }]);
  workbench.debug.breakpoints = [breakpoint(8)];
  debugging = new Debugging(server.server, memory);
  workbench.debug.addBreakpoints([breakpoint(7), breakpoint(7, true, 'the one of the user')]); // VS Code tells of them later
  expect(workbench.debug.breakpoints).toMatchObject([{ enabled: true }, { condition: 'the one of the user' }]);
  expect(kept.get('suspectra.breakpoints')).toEqual([]);
});

it('says what to install, and opens it', async () => {
  workbench.debugger = false;
  workbench.answer = 'Install';
  await give(launch);
  expect(workbench.errors).toEqual([expect.stringContaining('Python Debugger')]);
  expect(workbench.opened).toEqual([DEBUGGER]);
  expect(workbench.debug.started).toEqual([]);
  expect(workbench.debug.lines).toEqual([]);
});

it('is about nothing else', async () => {
  await give(launch, serverCommands.explain);
  await give(null);
  expect(workbench.debug.started).toEqual([]);
});
