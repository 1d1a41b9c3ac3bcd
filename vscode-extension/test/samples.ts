import type { FailureGroup, Suspect } from '../src/listed';
import type { Suspects } from '../src/protocol';

export const suspect: Suspect = {
  uri: 'file:///project/shop/cart.py',
  range: { start: { line: 11, character: 4 }, end: { line: 12, character: 9 } },
  file: 'shop/cart.py',
  line: 12,
  endLine: 13,
  function: 'Cart.total',
  score: 0.70710678,
  reason: '',
  findings: [],
  source: 'return total',
  raised: false,
  repairs: 0,
  tie: 1,
  functionRank: 1,
  rankBest: 2,
  rankAverage: 3,
  rankWorst: 4,
  ef: 3,
  ep: 3,
  nf: 0,
  np: 42,
  changed: 0,
  changedByGit: 0,
  failingTests: Array.from({ length: 10 }, (_, i) => `tests/test_cart.py::test_${i}`),
  group: null,
  examined: false,
  innocent: false,
  steps: 12.34,
  suspicion: 'high',
};

/** The failing tests of a folder that has one failure group. */
export const failure: FailureGroup = {
  folder: 'file:///project',
  id: null,
  title: '',
  heading: '✗ 2 tests',
  names: 'test_sum and 1 more',
  failure: 'AssertionError: expected 4, actual 3',
  uri: 'file:///project/tests/test_cart.py',
  range: { start: { line: 6, character: 4 }, end: { line: 6, character: 30 } },
  sure: true,
  tests: ['tests/test_cart.py::test_sum', 'tests/test_cart.py::test_tax'],
  uncovered: [],
  current: true,
};

export const report: Suspects = {
  technique: 'ochiai',
  title: 'Ochiai',
  cloneFailed: false,
  without: [],
  passed: 4,
  failed: 1,
  elements: 9,
  state: 'ready',
  problems: [],
  collectionErrors: [],
  failedRuns: [],
  groups: [failure],
  unexplained: [],
  suspects: [suspect],
};

/** A value that a test needs to be there. */
export function defined<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) {
    throw new Error('the test expected a value here');
  }
  return value;
}
