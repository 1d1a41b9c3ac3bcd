/** The tests of a folder as a tree, and which of them a request is about. Knows nothing of VS Code. */

import type { Test } from '../protocol';

/** A file, a class or a test. */
export interface TestNode {
  /** Unique in the folder; for a test, its name. */
  id: string;
  label: string;
  /** The test, if the node is one. */
  test?: Test;
  uri: string | null;
  children: TestNode[];
}

/** Tests below their files and classes, each in the order of the run. */
export function treeOf(tests: readonly Test[]): TestNode[] {
  const roots: TestNode[] = [];
  const groups = new Map<string, TestNode>();
  for (const test of tests) {
    const { above, label } = partsOf(test.name);
    let siblings = roots;
    for (const [depth, name] of above.entries()) {
      const id = above.slice(0, depth + 1).join('::');
      let group = groups.get(id);
      if (!group) {
        group = { id, label: name, uri: test.uri, children: [] };
        groups.set(id, group);
        siblings.push(group);
      }
      siblings = group.children;
    }
    siblings.push({ id: test.name, label, test, uri: test.uri, children: [] });
  }
  return roots;
}

/** The files and classes above a test, and its own name. A parameter may contain the separator, too. */
function partsOf(name: string): { above: string[]; label: string } {
  const bracket = name.indexOf('[');
  const plain = bracket < 0 ? name : name.slice(0, bracket);
  const above = plain.split('::');
  const own = above.pop() ?? '';
  return { above, label: own + name.slice(plain.length) };
}

/** The part of a `TestItem` that is needed to find the chosen tests. */
export interface Item<Self> {
  readonly id: string;
  readonly parent: Self | undefined;
  readonly children: Iterable<[string, Self]>;
}

/** The tests to run: `undefined` for all, including those that are not known yet. */
export type Chosen = readonly string[] | undefined;

/**
 * The tests that a request is about, by folder.
 *
 * @param roots - The items of the folders.
 * @param nameOf - Returns the name of a test; undefined for files and classes.
 */
export function chosenTests<Self extends Item<Self>>(
  roots: readonly Self[],
  nameOf: (item: Self) => string | undefined,
  include: readonly Self[] | undefined,
  exclude: readonly Self[] = [],
): Map<Self, Chosen> {
  const excluded = new Set(exclude.map(({ id }) => id));
  const found = new Map<Self, Chosen>();
  for (const root of roots) {
    const own = (include ?? roots).filter((item) => rootOf(item).id === root.id);
    if (!own.length || excluded.has(root.id)) {
      continue;
    }
    const names = new Set(own.flatMap((item) => namesBelow(item, nameOf, excluded)));
    const whole = own.some((item) => item.id === root.id) && ![...exclude].some((item) => rootOf(item).id === root.id);
    if (whole || names.size) {
      found.set(root, whole ? undefined : [...names]);
    }
  }
  return found;
}

function rootOf<Self extends Item<Self>>(item: Self): Self {
  return item.parent ? rootOf(item.parent) : item;
}

function namesBelow<Self extends Item<Self>>(
  item: Self,
  nameOf: (item: Self) => string | undefined,
  excluded: ReadonlySet<string>,
): string[] {
  if (excluded.has(item.id)) {
    return [];
  }
  const name = nameOf(item);
  return name !== undefined ? [name] : [...item.children].flatMap(([, child]) => namesBelow(child, nameOf, excluded));
}
