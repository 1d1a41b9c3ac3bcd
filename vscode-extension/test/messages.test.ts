import { describe, expect, it } from 'vitest';

import type { MoveMessage, FolderState, Progress, Status } from '../src/protocol';
import {
  cursorText,
  learnedText,
  moveText,
  percentText,
  placeOf,
  rankText,
  reportText,
  scoreText,
  statusText,
  suspectDetails,
  suspectLocation,
} from '../src/messages';
import { suspect } from './samples';

const status: Status = {
  state: 'ready',
  message: '',
  technique: 'ochiai',
  title: 'Ochiai',
  suspects: 1,
  failed: 3,
  passed: 45,
  compiled: false,
  onlyRead: false,
  collectionErrors: 0,
  progress: null,
  investigation: null,
};

describe('statusText', () => {
  it('counts failing tests, and names the first suspect and the run', () => {
    expect(statusText(status, placeOf(suspect))).toEqual({
      text: '$(error) 3 failing · total:12',
      tooltip: 'Ochiai over 3 failing tests and 45 passing',
      label: 'Suspectra: 3 failing · total:12',
      warning: false,
    });
    expect(statusText(status).text).toBe('$(error) 3 failing');
  });

  it('leads to no suspect where all of them changed: they are none of the new code', () => {
    const said = (suspects: number) => statusText({ ...status, state: 'stale', suspects }).text;
    expect(said(2)).toBe('$(history) 3 failing');
    expect(said(0)).toBe('$(history) Sources changed');
  });

  it('says something in every state, and the server’s own message where it sent one', () => {
    const states: FolderState[] = ['noEvidence', 'ranking', 'noFailingTests', 'error', 'runningTests', 'stale'];
    for (const state of states) {
      expect(statusText({ ...status, state, message: 'said by the server' }).tooltip).toBe('said by the server');
      expect(statusText({ ...status, state, message: '' }).text).toMatch(/^\$\([a-z~-]+\) \S/);
    }
  });

  it('counts the tests of a run', () => {
    const said = (counts: Omit<Progress, 'onSave'>) =>
      statusText({ ...status, state: 'runningTests', progress: { ...counts, onSave: false } }).text;
    expect(said({ done: 0, failed: 0, total: 0 })).toBe('$(loading~spin) Running tests');
    expect(said({ done: 12, failed: 0, total: 817 })).toBe('$(loading~spin) 12 of 817 tests');
    expect(said({ done: 400, failed: 3, total: 817 })).toBe('$(loading~spin) 400 of 817 tests, 3 failed');
    expect(said({ done: 1, failed: 1, total: 0 })).toBe('$(loading~spin) 1 test, 1 failed');
  });

  it('is short while the tests run that a save can affect', () => {
    const said = (done: number, failed: number, total: number) =>
      statusText({ ...status, state: 'runningTests', progress: { done, failed, total, onSave: true } });
    expect(said(0, 0, 0).text).toBe('$(sync~spin) 0 this save');
    expect(said(3, 0, 59).text).toBe('$(sync~spin) 3/59 this save');
    expect(said(12, 2, 59)).toMatchObject({
      text: '$(sync~spin) 12/59 · 2 ✗ this save',
      label: 'Suspectra: 12 of 59 tests, 2 failed, since the save',
    });
  });

  it('asks for a folder where there is none', () => {
    expect(statusText({ state: 'noFolder' })).toMatchObject({
      warning: false,
      tooltip: 'Open a folder to rank what its tests execute',
    });
  });

  it('warns, with the cure, when there is no server', () => {
    const words = statusText({ state: 'noServer', problem: 'No Python was found', cure: 'Install one' });
    expect(words).toMatchObject({ warning: true, tooltip: 'No Python was found. Fix: Install one' });
  });
});

describe('the line above the suspects', () => {
  it('tells what ranked them', () => {
    const report = {
      technique: 'ochiai',
      title: 'Ochiai',
      cloneFailed: true,
      without: [],
      passed: 4,
      failed: 1,
      elements: 9,
      collectionErrors: [],
      tiedBeyond: 0,
      failedRuns: [],
      groups: [],
      unexplained: [],
    };
    expect(reportText({ ...report, state: 'ready', problems: [], suspects: [suspect] })).toBe(
      'Ochiai with cloning · 1 failed, 4 passed',
    );
    const evidence = {
      ...report,
      technique: 'evidence',
      title: 'All evidence',
      cloneFailed: false,
      without: ['branches', 'tracebacks'],
    };
    expect(reportText({ ...evidence, state: 'ready', problems: [], suspects: [suspect] })).toBe(
      'All evidence without branches, tracebacks · 1 failed, 4 passed',
    );
  });
});

describe('a suspect', () => {
  it('shows ties as a span of ranks', () => {
    expect(rankText(suspect)).toBe('2–4');
    expect(rankText({ rankBest: 2, rankWorst: 2 })).toBe('2');
  });

  it('shows scores of any scale', () => {
    expect([0.70710678, 0, 1, 12.25, 1234567.8, -0.5].map(scoreText)).toEqual([
      '0.707',
      '0',
      '1',
      '12.3',
      '1230000',
      '-0.5',
    ]);
    expect([Number.MAX_VALUE, -Number.MAX_VALUE].map(scoreText)).toEqual(['∞', '-∞']);
  });

  it('is placed by file and lines', () => {
    expect(suspectLocation(suspect)).toBe('shop/cart.py:12-13');
    expect(suspectLocation({ ...suspect, endLine: 12 })).toBe('shop/cart.py:12');
  });

  it('says at the end of its line why, and because of which tests', () => {
    const one = { ...suspect, ef: 1, nf: 2, ep: 2, np: 748, failingTests: ['a.py::TestA::test_b[c::d]'] };
    expect(cursorText(one)).toBe('1 of 3 failing, 2 of 750 passing · test_b');
    expect(cursorText(suspect)).toBe('3 of 3 failing, 3 of 45 passing · test_0 and 9 more');
    expect(cursorText({ ...suspect, failingTests: [] })).toBe('3 of 3 failing, 3 of 45 passing');
  });

  it('is detailed with counts and a bounded list of failing tests', () => {
    const details = suspectDetails(suspect, 'ochiai', 4);
    expect(details).toContain('**Rank 2–4** · ochiai 0.707 ▰▰▰▰▱\n\n`Cart.total`, shop/cart.py:12-13\n\n');
    expect(details).toContain('3 of 3 failing and 3 of 45 passing tests execute it.');
    expect(details).toContain('- `tests/test_cart.py::test_7`\n- and 2 more');
    const reason = 'test_x[*a*] executes it.';
    const explained = suspectDetails({ ...suspect, reason }, 'evidence', 4);
    expect(explained).toContain(':12-13\n\ntest\\_x\\[\\*a\\*\\] executes it.\n\n3 of 3');
  });

  it('is detailed with what changed, and says everything once', () => {
    const one = { ...suspect, changed: 2 };
    expect(suspectDetails(one, 'All evidence', 4)).toContain(
      '\n\nYou changed this since 2 of 3 failing tests passed.\n\n',
    );
    expect(suspectDetails({ ...one, changed: 1, ef: 1, nf: 2 }, '', 4)).toContain('You changed this.');
    expect(suspectDetails({ ...one, changedByGit: 1 }, '', 4)).toContain(
      'You changed this since 1 of 3 failing tests passed.',
    );
    expect(suspectDetails({ ...one, changedByGit: 2 }, '', 4)).toContain('\n\nChanged, according to git.\n\n');
    const found = '3 of 3 failing tests pass if this comes out false.';
    const details = suspectDetails({ ...suspect, findings: [found], reason: found }, 'ochiai', 3);
    expect(details.split('3 of 3 failing tests')).toHaveLength(2);
  });

  it('shows no expected steps: beside a rank they read like a second score', () => {
    expect(suspect.steps).not.toBeNull();
    expect(suspectDetails(suspect, 'ochiai', 4)).not.toContain('steps');
  });
});

describe('a place to go next', () => {
  const { uri, range, file, line } = suspect;
  const move: MoveMessage = {
    ...{ uri, range, file, line, function: 'Cart.total', source: 'return sum', rankBest: 2, rankWorst: 4, steps: 3 },
    probability: 0.3456,
    reasons: ['runs just before', 'same function'],
  };

  it('says how likely, where and why', () => {
    expect(moveText(move)).toEqual({
      label: '35 %  total',
      description: 'shop/cart.py:12 · rank 2–4',
      detail: 'runs just before, same function · return sum',
    });
    expect(moveText({ ...move, rankBest: null, rankWorst: null }).description).toBe('shop/cart.py:12');
  });

  it('has a probability of any size', () => {
    expect([1, 0.014, 0.0034, 0.00001, 0].map(percentText)).toEqual(['100 %', '1 %', '0.3 %', '<0.1 %', '0 %']);
  });
});

describe('what was learned', () => {
  const learned = { consent: true, jumps: 3, returns: 1, pJump: 0.7, low: 0.3, high: 0.9, file: '/x' };

  it('is told with its uncertainty, and whether it is used', () => {
    expect(learnedText(learned)).toBe(
      '3 of your 4 moves were jumps. The chance of a jump is taken as 70 % (between 30 % and 90 %).',
    );
    expect(learnedText({ ...learned, consent: false, jumps: 0, returns: 0 })).toBe(
      'No moves were counted yet. Nothing is counted or used: the setting learnJumps is off.',
    );
  });
});
