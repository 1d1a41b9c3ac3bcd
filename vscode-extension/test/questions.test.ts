import { afterEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';

import { serverCommands } from '../src/protocol';
import { askUser } from '../src/questions';
import { withDifference, withMenu } from '../src/lenses';

afterEach(() => vi.restoreAllMocks());

describe('a question of the server', () => {
  const actions = [{ title: 'Run Altered Tests' }, { title: 'Cancel' }];

  it('is a dialogue where the answer may do harm', async () => {
    const shown = vi.spyOn(vscode.window, 'showWarningMessage').mockResolvedValue(actions[0]);
    const message = 'Suspectra will run tests of shop again, by `pytest -q`. So your code could delete something.';
    expect(await askUser({ type: 2, message, actions })).toEqual(actions[0]);
    expect(shown).toHaveBeenCalledWith(
      'Suspectra will run tests of shop again, by `pytest -q`.',
      { modal: true, detail: 'So your code could delete something.' },
      actions[0],
    );
  });

  it('is a notification otherwise, and may be closed without an answer', async () => {
    const shown = vi.spyOn(vscode.window, 'showInformationMessage').mockResolvedValue(undefined);
    expect(await askUser({ type: 3, message: 'Right?', actions })).toBeNull();
    expect(shown).toHaveBeenCalledWith('Right?', ...actions);
  });
});

describe('the lens of a failing test', () => {
  const lens = (title: string, command: string) =>
    withMenu(new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command, arguments: ['f', ['t']] })).command;

  it('opens the list of experiments, and others stay', () => {
    expect(lens('Why does it fail?', serverCommands.why)).toEqual({
      ...{ title: 'Why Does It Fail? ▾', command: 'suspectra.experiments', arguments: ['f', ['t']] },
    });
    expect(lens('Why?', serverCommands.why)?.command).toBe(serverCommands.why);
    expect(lens('Debug', serverCommands.debugTest)?.title).toBe('Debug');
  });
});

it('an action that changes a file shows the difference first', () => {
  const [edit, title]: [unknown, string] = [{}, 'Undo This Change'];
  const action = { title, edit };
  expect(withDifference(action as unknown as vscode.CodeAction)).toMatchObject({
    command: { command: 'suspectra.applyChange', arguments: [title, edit] },
  });
  expect(action).not.toHaveProperty('edit');
  const other = { title, command: { title, command: 'other' } };
  expect(withDifference(other as unknown as vscode.CodeAction)).toEqual(other);
});
