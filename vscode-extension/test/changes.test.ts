import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';

import { serverCommands } from '../src/protocol';
import { Changes } from '../src/runs/changes';
import { Runs } from '../src/runs/runs';
import { defined } from './samples';
import { ScriptedServer } from './standins/server';
import { workbench } from './standins/workbench';

const TEXT = 'def off(amount):\n    if amount > 10:\n        return 1\n';
const URI = vscode.Uri.file('/shop.py');
let server: ScriptedServer;
let all: vscode.Disposable;
let applied: [string, string][];
let shown: unknown[][];
let text: string;

function edit(uri: vscode.Uri, line: number, text: string): vscode.WorkspaceEdit {
  const made = new vscode.WorkspaceEdit();
  made.set(uri, [new vscode.TextEdit(new vscode.Range(line, 0, line + 1, 0), text)]);
  return made;
}

const REPAIR = edit(URI, 1, '    if amount >= 10:\n');
const TEST = edit(vscode.Uri.file('/test_off_more.py'), 0, 'assert off(10) == 1\n');

beforeEach(() => {
  workbench.reset('/');
  [applied, shown] = [[], []];
  workbench.input = undefined;
  vi.spyOn(vscode.commands, 'executeCommand').mockImplementation((_, ...args: unknown[]) => {
    shown.push(args);
    return Promise.resolve(undefined as never);
  });
  text = TEXT;
  const document = { getText: () => text, offsetAt: ({ line }: vscode.Position) => [0, 17, 37][line] ?? TEXT.length };
  Object.assign(vscode.workspace, {
    openTextDocument: ({ path }: vscode.Uri) =>
      path === URI.path ? Promise.resolve(document) : Promise.reject(new Error('no such file')),
    applyEdit: (made: vscode.WorkspaceEdit & { created: vscode.Uri[] }) => {
      applied.push(...made.created.map(({ path }): [string, string] => ['made', path]));
      for (const [uri, [one]] of made.entries()) {
        applied.push([uri.path, defined(one).newText]);
      }
      return Promise.resolve(true);
    },
  });
  server = new ScriptedServer();
  const runs = new Runs(server.server);
  all = vscode.Disposable.from(runs, new Changes(server.server, runs));
});
afterEach(() => {
  all.dispose();
  vi.restoreAllMocks();
});

const asked = (labels: string[]) =>
  vi.waitFor(() => {
    expect(workbench.input?.items.map(({ label }) => label)).toEqual(labels);
    return defined(workbench.input);
  });

it('are shown in the column with the code, where a panel asked', async () => {
  Object.assign(vscode.window, { visibleTextEditors: [{ viewColumn: undefined }, { viewColumn: 1 }] });
  const made = server.server.confirm('Undo This Change', REPAIR);
  const input = await asked(['Undo This Change', 'Change Nothing']);
  input.go('Undo This Change');
  await vi.waitFor(() =>
    expect(shown).toMatchObject([[{}, {}, 'shop.py: Undo This Change', { viewColumn: 1, preview: false }]]),
  );
  input.enter('Change Nothing');
  expect(await made).toBe(false);
  Object.assign(vscode.window, { visibleTextEditors: [] });
});

it('are shown as a difference, and made when the user agrees', async () => {
  const made = server.server.confirm('Undo This Change', REPAIR);
  const input = await asked(['Undo This Change', 'Change Nothing']);
  expect(input.items[0]).toMatchObject({ detail: 'if amount > 10: → if amount >= 10:' });
  input.go('Undo This Change');
  await vi.waitFor(() => {
    const where = { selection: new vscode.Range(1, 0, 1, 0), preserveFocus: true };
    expect(shown).toMatchObject([[{}, {}, 'shop.py: Undo This Change', where]]);
  });
  input.enter('Undo This Change');
  expect(await made).toBe(true);
  expect(applied).toEqual([['/shop.py', '    if amount >= 10:\n']]);
  expect(workbench.opened).toEqual(['/shop.py:2']);
});

it('are not made where the user chooses nothing', async () => {
  const made = server.server.confirm('Undo This Change', REPAIR);
  (await asked(['Undo This Change', 'Change Nothing'])).enter('Change Nothing');
  expect(await made).toBe(false);
  expect(applied).toEqual([]);
});

it('are not made in a text that was edited meanwhile', async () => {
  const made = server.server.confirm('Undo This Change', REPAIR);
  const input = await asked(['Undo This Change', 'Change Nothing']);
  text = `# new\n${TEXT}`;
  input.enter('Undo This Change');
  expect(await made).toBe(false);
  expect(applied).toEqual([]);
  expect(workbench.errors).toHaveLength(1);
});

it('can be many, and begin with tests that tell them apart', async () => {
  const found = { place: 'shop.py:2', said: 'all tests pass.', apart: '', edit: REPAIR, test: null };
  server.executed.fire({
    command: serverCommands.findFix,
    result: [
      { ...found, title: 'a >= 10', apart: 'off(10) gives 1.', test: TEST },
      { ...found, title: 'a > 9' },
    ],
  });
  const input = await asked(['a >= 10', 'Write a Test', 'a > 9', 'Change Nothing']);
  expect(input.items[0]).toMatchObject({ detail: 'All tests pass.' });
  input.enter('Write a Test');
  (await asked(['a >= 10', 'a > 9', 'Change Nothing'])).enter('a > 9');
  await vi.waitFor(() => {
    expect(applied.map(([path]) => path)).toEqual(['made', '/test_off_more.py', '/shop.py']);
  });
});
