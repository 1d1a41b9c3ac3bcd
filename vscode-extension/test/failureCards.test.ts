import { describe, expect, it } from 'vitest';

import { cards } from '../src/suspects/failureCards';
import type { CollectionErrorMessage, Suspects } from '../src/protocol';

const error: CollectionErrorMessage = {
  collector: 'tests/test_a.py',
  exception: 'ModuleNotFoundError',
  message: "No module named 'nowhere'",
  folder: 'file:///project',
  uri: 'file:///project/src/a.py',
  range: { start: { line: 3, character: 4 }, end: { line: 3, character: 18 } },
  file: 'src/a.py',
  line: 4,
  test: 'file:///project/tests/test_a.py',
  missing: 'nowhere',
  missingPackage: 'nowhere',
  environment: '.venv',
};
const report: Suspects = {
  technique: 'ochiai',
  title: 'Ochiai',
  cloneFailed: false,
  without: [],
  passed: 1,
  failed: 0,
  elements: 0,
  state: 'error',
  problems: [],
  collectionErrors: [],
  failedRuns: [],
  groups: [],
  unexplained: [],
  suspects: [],
};

describe('the cards of failed runs', () => {
  it('are none where nothing failed', () => {
    expect(cards(undefined)).toEqual([]);
    expect(cards(report)).toEqual([]);
  });

  const broken = {
    ...error,
    exception: 'NameError',
    message: "name 'x' is not defined",
    missing: '',
    missingPackage: '',
  };

  it('say in one card which files need a module, and what to do', () => {
    const names = ['a', 'b', 'c', 'd'];
    const errors = names.map((name) => ({
      ...error,
      collector: `tests/test_${name}.py`,
      file: `tests/test_${name}.py`,
    }));
    expect(cards({ ...report, collectionErrors: errors })).toMatchObject([
      { label: '4 files need `nowhere`', description: '', missing: 'nowhere', package: 'nowhere' },
    ]);
  });

  it('say which plugin is not installed', () => {
    const usage = {
      ...broken,
      exception: 'UsageError',
      message: 'unrecognized arguments: --cov',
      missingPackage: 'pytest-cov',
    };
    const told = (environment: string) =>
      cards({ ...report, collectionErrors: [{ ...usage, environment }] }).map(({ label }) => label);
    expect(told('.venv')).toEqual(['pytest-cov is not installed in .venv']);
    expect(told('')).toEqual(['pytest-cov is not installed']);
  });

  it('say what is wrong, and lead there', () => {
    const [card] = cards({ ...report, collectionErrors: [broken] });
    expect(card).toMatchObject({
      label: "NameError: name 'x' is not defined",
      description: 'src/a.py:4',
      folder: 'file:///project',
      location: { uri: 'file:///project/src/a.py', line: 3, character: 4 },
    });
    expect(card?.tooltip).toContain('tests/test_a.py could not be collected');
  });

  it('lead to the line as it was run where it was edited, and nowhere where there is no place', () => {
    const [edited] = cards({ ...report, collectionErrors: [{ ...broken, range: null }] });
    expect(edited?.location).toEqual({ uri: error.uri, line: 3, character: 0 });
    const [elsewhere] = cards({
      ...report,
      collectionErrors: [{ ...broken, uri: null, range: null, file: '', line: 0 }],
    });
    expect(elsewhere).toMatchObject({ location: undefined, description: 'tests/test_a.py' });
  });

  it('say why what was recorded can not be ranked', () => {
    const problem = { file: '.coverage', place: '', cause: 'it is damaged', cure: 'run the tests again' };
    const [card] = cards({ ...report, problems: [problem] });
    expect(card).toMatchObject({ label: 'it is damaged', description: '.coverage', location: undefined });
    expect(card?.tooltip).toContain('Fix: run the tests again');
    expect(cards({ ...report, state: 'ready', problems: [problem] })).toEqual([]);
  });

  it('say each thing once, and why a run never began', () => {
    const failed = { folder: 'file:///project', message: 'record -- pytest ended with status 2: no pytest' };
    const all = cards({ ...report, collectionErrors: [error, error], failedRuns: [failed] });
    expect(all.map(({ label }) => label)).toEqual([expect.stringContaining('nowhere'), 'The tests could not be run']);
    expect(all[1]?.description).toBe(failed.message);
    const nothing = { file: '.suspectra', place: '', cause: 'nothing was recorded yet', cure: '' };
    expect(cards({ ...report, problems: [nothing], failedRuns: [failed] })).toHaveLength(1);
  });
});
