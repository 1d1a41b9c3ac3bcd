import { describe, expect, it } from 'vitest';

import type { Test } from '../src/protocol';
import { chosenTests, type Item, type TestNode, treeOf } from '../src/testing/testTree';

const names = [
  'tests/test_a.py::test_case[1]',
  'tests/test_a.py::test_case[a/b::c[d]]',
  'tests/test_a.py::TestX::test_one',
  'tests/test_a.py::TestX::TestInner::test_two',
  'tests/test_b.py::test_b',
  'ctest_case',
] as const;
const tests = names.map((name): Test => ({
  name,
  verdict: 'passed',
  message: '',
  failed: null,
  compared: null,
  calls: [],
  seconds: 0,
  uri: null,
  line: null,
}));

class Node implements Item<Node> {
  readonly children: [string, Node][] = [];
  name: string | undefined;

  constructor(
    readonly id: string,
    readonly parent: Node | undefined,
  ) {
    parent?.children.push([id, this]);
  }
}

function built(): { root: Node; at: (id: string) => Node } {
  const root = new Node('file:///project', undefined);
  const all = new Map<string, Node>([[root.id, root]]);
  const add = (parent: Node, nodes: TestNode[]) => {
    for (const { id, test, children } of nodes) {
      const node = new Node(id, parent);
      node.name = test?.name;
      all.set(id, node);
      add(node, children);
    }
  };
  add(root, treeOf(tests));
  const at = (id: string) => {
    const node = all.get(id);
    if (!node) {
      throw new Error(`there is no ${id}`);
    }
    return node;
  };
  return { root, at };
}

const chosen = (include: string[] | undefined, exclude: string[] = []) => {
  const { root, at } = built();
  const found = chosenTests([root], (node) => node.name, include?.map(at), exclude.map(at));
  return found.has(root) ? (found.get(root) ?? 'all') : 'none';
};

describe('the tree of tests', () => {
  it('has files, classes and tests, whatever parameters contain', () => {
    const shown = (nodes: TestNode[]): unknown[] =>
      nodes.map(({ label, children }) => (children.length ? [label, shown(children)] : label));
    expect(shown(treeOf(tests))).toEqual([
      [
        'tests/test_a.py',
        ['test_case[1]', 'test_case[a/b::c[d]]', ['TestX', ['test_one', ['TestInner', ['test_two']]]]],
      ],
      ['tests/test_b.py', ['test_b']],
      'ctest_case',
    ]);
  });
});

describe('a request', () => {
  it('for nothing in particular, or for the folder, is for all tests, also new ones', () => {
    expect(chosen(undefined)).toBe('all');
    expect(chosen(['file:///project'])).toBe('all');
    expect(chosen(['file:///project', names[0]])).toBe('all');
  });

  it('for one test, a case, a class or a file is for no other', () => {
    expect(chosen([names[4]])).toEqual([names[4]]);
    expect(chosen([names[1]])).toEqual([names[1]]);
    expect(chosen(['tests/test_a.py::TestX'])).toEqual([names[2], names[3]]);
    expect(chosen(['tests/test_b.py', 'ctest_case'])).toEqual([names[4], names[5]]);
    expect(chosen(['tests/test_a.py::TestX', names[2]])).toEqual([names[2], names[3]]);
  });

  it('leaves out what is excluded', () => {
    expect(chosen(undefined, ['tests/test_a.py'])).toEqual([names[4], names[5]]);
    expect(chosen(['tests/test_a.py'], ['tests/test_a.py::TestX::TestInner'])).toEqual(names.slice(0, 3));
    expect(chosen(undefined, ['file:///project'])).toBe('none');
    expect(chosen(['tests/test_b.py'], [names[4]])).toBe('none');
  });
});
