import { describe, expect, it } from 'vitest';

import { byFunction, emptiness, filtered, grouped } from '../src/suspects/grouping';
import { suspect } from './samples';

const total = { ...suspect, failingTests: ['tests/test_cart.py::test_sum', 'tests/test_cart.py::test_tax[10]'] };
const tax = {
  ...suspect,
  uri: 'file:///project/tax.py',
  file: 'tax.py',
  function: '',
  failingTests: ['tests/test_cart.py::test_tax[10]'],
};
const again = { ...total, line: 20, endLine: 20 };
const all = [tax, total, again];

describe('an empty list', () => {
  const report = {
    technique: 'ochiai',
    title: 'Ochiai',
    cloneFailed: false,
    without: [],
    passed: 1,
    failed: 1,
    elements: 9,
    problems: [],
    collectionErrors: [],
    tiedBeyond: 0,
    failedRuns: [],
    groups: [],
    unexplained: [],
  };

  it('means that nothing is suspected only once there is a ranking', () => {
    expect(emptiness(undefined, 0, false)).toBe('unknown');
    expect(emptiness({ ...report, state: 'noEvidence', suspects: [] }, 0, false)).toBe('unknown');
    expect(emptiness({ ...report, state: 'ranking', suspects: [] }, 0, false)).toBe('unknown');
    expect(emptiness({ ...report, state: 'ready', suspects: [] }, 0, false)).toBe('noSuspects');
    expect(emptiness({ ...report, state: 'stale', failed: 0, suspects: [] }, 0, false)).toBe('noSuspects');
  });

  it('is told from one whose suspects are no longer there', () => {
    expect(emptiness({ ...report, state: 'stale', suspects: [] }, 0, false)).toBe('outdated');
  });

  it('is told from one that hides its suspects', () => {
    expect(emptiness({ ...report, state: 'ready', suspects: all }, 3, false)).toBe('');
    expect(emptiness({ ...report, state: 'ready', suspects: all }, 0, true)).toBe('allExamined');
    expect(emptiness({ ...report, state: 'ready', suspects: all }, 0, false)).toBe('noMatch');
  });
});

describe('grouped', () => {
  it('by file, the file of the best suspect first', () => {
    expect(grouped(all, 'file')).toEqual([
      { key: tax.uri, label: 'tax.py', description: '', suspects: [tax] },
      { key: total.uri, label: 'cart.py', description: 'shop', suspects: [total, again] },
    ]);
  });

  it('by failing test: a suspect is in each of its tests', () => {
    expect(grouped(all, 'test').map(({ label, description, suspects }) => [label, description, suspects])).toEqual([
      ['test_tax[10]', 'tests/test_cart.py', all],
      ['test_sum', 'tests/test_cart.py', [total, again]],
    ]);
  });

  it('tells the tests of one name in two folders of a workspace apart', () => {
    const folders = ['shop', 'bank'].map((folder) => ({ ...tax, folder, file: `${folder}/tax.py` }));
    expect(grouped(folders, 'test').map(({ description }) => description)).toEqual([
      'shop/tests/test_cart.py',
      'bank/tests/test_cart.py',
    ]);
  });
});

describe('by function', () => {
  it('the suspects of each are together, the function of the best one first', () => {
    expect(byFunction([total, tax, again])).toEqual([[total, again], [tax]]);
  });

  it('functions of one name in two files are two', () => {
    expect(byFunction([total, { ...total, uri: 'file:///project/other.py', file: 'other.py' }])).toHaveLength(2);
  });
});

describe('filtered', () => {
  it('takes every word, from file, function or tests, in any case', () => {
    expect(filtered(all, '')).toEqual(all);
    expect(filtered(all, '  CART.total ')).toEqual([total, again]);
    expect(filtered(all, 'test_tax tax.py')).toEqual([tax]);
    expect(filtered(all, 'nothing')).toEqual([]);
  });

  it('is quick enough to follow typing', () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({ ...suspect, line: i }));
    expect(filtered(many, 'cart total')).toHaveLength(5000);
    expect(grouped(many, 'test')).toHaveLength(10);
  });
});
