import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { inWords } from '../src/testing/runNotification';

const SESSION = join(__dirname, '../../server/suspectra_server/session');

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
