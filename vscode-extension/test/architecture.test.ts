// The imports among the modules of the extension: no circles, also among types.
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

import ts from 'typescript';
import { expect, it } from 'vitest';

const SOURCES = join(import.meta.dirname, '../src');

const texts = new Map(
  readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file.replace(/\.ts$/, ''), readFileSync(join(SOURCES, file), 'utf8')]),
);
const imports = new Map(
  [...texts].map(([module, text]) => {
    const names = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
    return [module, names.filter((name) => name.startsWith('.')).map((name) => normalize(join(module, '..', name)))];
  }),
);

/** The first circle that a walk along the imports comes back to, as its modules. */
function circle(graph: ReadonlyMap<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const walk = (module: string, path: string[]): string[] | undefined => {
    if (path.includes(module)) {
      return [...path.slice(path.indexOf(module)), module];
    }
    for (const next of done.has(module) ? [] : (graph.get(module) ?? [])) {
      const found = walk(next, [...path, module]);
      if (found) {
        return found;
      }
    }
    done.add(module);
    return undefined;
  };
  return [...graph.keys()].map((module) => walk(module, [])).find(Boolean);
}

it('finds a circle', () => {
  const graph = new Map([
    ['a', ['b', 'c']],
    ['b', ['c']],
    ['c', ['d', 'b']],
  ]);
  expect(circle(graph)).toEqual(['b', 'c', 'b']);
  expect(circle(new Map([['a', ['b']]]))).toBeUndefined();
});

it('has no circle', () => {
  expect(imports.get('extension')).toContain('client');
  expect([...imports.values()].flat().filter((name) => !texts.has(name))).toEqual([]);
  expect(circle(imports)).toBeUndefined();
});

it('knows VS Code only where it says so', () => {
  const apart = [...texts].filter(([, text]) => text.includes('Knows nothing of VS Code.'));
  expect(apart.length).toBeGreaterThan(5);
  expect(apart.filter(([, text]) => text.includes("from 'vscode'")).map(([module]) => module)).toEqual([]);
});
