import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';
import { ProgressLocation } from 'vscode';

import { inWords, RunNotification } from '../src/testing/runNotification';

import { workbench } from './standins/workbench';

const SESSION = join(__dirname, '../../server/suspectra_server/session');

beforeEach(() => workbench.reset('/project'));

/** The titles that the server gives the progress of its runs. */
function titles(): string[] {
  const sources = readdirSync(SESSION, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py'));
  return sources.flatMap((name) => {
    const text = readFileSync(join(SESSION, name), 'utf8');
    return [...text.matchAll(/title(?:: str = field\(default=| = self\.cancel, )"([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
  });
}

test('a notification says which kind of run it is about', () => {
  const known = titles();
  expect(known).toContain('searching for the cause');
  expect(known).toContain('running tests');
  const shown = known.map((title) => inWords(`Suspectra: ${title}`));
  expect(shown.filter((text) => text.startsWith('Suspectra'))).toEqual([]);
  expect(new Set(shown).size).toBe(new Set(known).size);
  expect(inWords('Suspectra: searching for the cause')).toBe('Searching for the cause');
});

test('what a view tells gets no notification', () => {
  const runs = new RunNotification(() => undefined);
  const titles = ['running tests', 'finding out why it fails', 'searching for the cause', 'searching for a fix'];
  for (const title of titles) {
    runs.handle(title, { kind: 'begin', title: `Suspectra: ${title}` });
  }
  runs.end();
  const { Notification } = ProgressLocation;
  const suspects = { viewId: 'suspectra.suspects' };
  expect(workbench.progress).toEqual([suspects, suspects, { viewId: 'suspectra.causes' }, Notification]);
});
