import { afterEach, beforeEach, expect, it } from 'vitest';

import { Answers } from '../src/panels/answers';
import { type Answer, serverCommands } from '../src/protocol';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

const { why, whyNot } = serverCommands;
const known: Answer = {
  markdown: '',
  headline: 'Look at a.py:3 first.',
  sentences: ['    x < 1'],
  location: {
    uri: 'file:///project/a.py',
    range: { start: { line: 2, character: 0 }, end: { line: 3, character: 0 } },
  },
  change: null,
  fix: null,
};
const whole = { ...known, headline: 'a.py:3 is wrong.' };
const running = { ...status, investigation: { runs: 1, test: 't', share: 0, found: '' } };

let server: ScriptedServer;
let answers: Answers;

beforeEach(() => {
  workbench.reset('/project');
  server = new ScriptedServer();
  answers = new Answers(server.server);
});
afterEach(() => answers.dispose());

const shown = () => workbench.panels.get('suspectra.why')?.contents.at(-1);

/** The server has found something out. */
function learn(doing: string, command: string = why): void {
  server.changed.fire(running);
  server.found.fire({ command, answer: known, doing });
}

it('are shown as far as they are known, until they are whole', () => {
  learn('Trying changes');
  workbench.panels.get('suspectra.why')?.report('ready');
  expect(shown()).toContain('Look at a.py:3 first.');
  expect(shown()).toContain('Trying changes');
  learn('Trying values');
  expect(shown()).not.toContain('Trying changes');
  server.changed.fire(status);
  server.executed.fire({ command: why, result: whole });
  expect(shown()).toContain('a.py:3 is wrong.');
  expect(shown()).not.toContain('Still');
});

it('open a panel that was closed meanwhile only once they are whole', () => {
  learn('Trying changes');
  const first = workbench.panels.get('suspectra.why');
  first?.dispose();
  learn('Trying values');
  expect(workbench.panels.get('suspectra.why')).toBe(first);
  server.executed.fire({ command: why, result: whole });
  expect(workbench.panels.get('suspectra.why')).not.toBe(first);
});

it('say nothing of a search that has ended without one', () => {
  learn('Trying changes');
  server.changed.fire(status);
  expect(shown()).toContain('Look at a.py:3 first.');
  expect(shown()).not.toContain('Still');
});

it('are each in the panel of their command', () => {
  learn('Comparing', whyNot);
  expect([...workbench.panels.keys()]).toEqual(['suspectra.answer']);
});
