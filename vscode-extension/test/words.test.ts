import { describe, expect, it } from 'vitest';

import type { State, Status, Suspect } from '../src/protocol';
import { rankWords, reportWords, scoreWords, statusWords, suspectDetails, suspectLabel, suspectPlace } from '../src/words';

const status: Status = { state: 'ready', message: '', technique: 'ochiai', suspects: 1, failed: 3, passed: 45 };

const suspect: Suspect = {
  uri: 'file:///project/shop/cart.py',
  range: { start: { line: 11, character: 4 }, end: { line: 12, character: 9 } },
  file: 'shop/cart.py',
  line: 12,
  endLine: 13,
  function: 'Cart.total',
  score: 0.70710678,
  rankBest: 2,
  rankAverage: 3,
  rankWorst: 4,
  ef: 3,
  ep: 3,
  nf: 0,
  np: 42,
  failingTests: Array.from({ length: 10 }, (_, i) => `tests/test_cart.py::test_${i}`),
  examined: false,
  innocent: false,
  steps: null,
  band: 'high',
};

describe('statusWords', () => {
  it('counts suspects and names the run', () => {
    expect(statusWords(status)).toEqual({
      text: '$(search) 1 suspect',
      tooltip: 'ochiai over 3 failing tests and 45 passing',
      label: 'Suspectra: 1 suspect',
      warning: false,
    });
    expect(statusWords({ ...status, suspects: 20 }).text).toBe('$(search) 20 suspects');
  });

  it('says something in every state, and the server’s own message where it sent one', () => {
    const states: State[] = ['noEvidence', 'ranking', 'noFailingTests', 'error', 'runningTests', 'stale'];
    for (const state of states) {
      expect(statusWords({ ...status, state, message: 'said by the server' }).tooltip).toBe('said by the server');
      expect(statusWords({ ...status, state, message: '' }).text).toMatch(/^\$\([a-z~-]+\) \S/);
    }
  });

  it('warns, with the cure, when there is no server', () => {
    const words = statusWords({ state: 'noServer', problem: 'No Python was found', cure: 'Install one' });
    expect(words).toMatchObject({ warning: true, tooltip: 'No Python was found. To mend it: Install one' });
  });
});

describe('the line above the suspects', () => {
  it('tells what ranked them', () => {
    const report = { technique: 'ochiai', cloneFailed: true, passed: 4, failed: 1, elements: 9 };
    expect(reportWords({ ...report, state: 'ready', problems: [], suspects: [suspect] })).toBe(
      'ochiai with cloning · 1 failed, 4 passed',
    );
  });
});

describe('a suspect', () => {
  it('shows ties as a span of ranks', () => {
    expect(rankWords(suspect)).toBe('2–4');
    expect(rankWords({ rankBest: 2, rankWorst: 2 })).toBe('2');
  });

  it('shows scores of any scale', () => {
    expect([0.70710678, 0, 1, 12.25, 1234567.8, -0.5].map(scoreWords)).toEqual([
      '0.707',
      '0',
      '1',
      '12.3',
      '1230000',
      '-0.5',
    ]);
    expect([Number.MAX_VALUE, -Number.MAX_VALUE].map(scoreWords)).toEqual(['∞', '-∞']);
  });

  it('is placed by file and lines', () => {
    expect(suspectPlace(suspect)).toBe('shop/cart.py:12-13');
    expect(suspectPlace({ ...suspect, endLine: 12 })).toBe('shop/cart.py:12');
  });

  it('is read out with everything that colour and icon say', () => {
    expect(suspectLabel({ ...suspect, examined: true })).toBe(
      'Rank 2 to 4, Cart.total, shop/cart.py, line 12-13, score 0.707, high suspicion, examined',
    );
  });

  it('is detailed with counts and a bounded list of failing tests', () => {
    const details = suspectDetails(suspect, 'ochiai');
    expect(details).toContain('**Rank 2–4** · ochiai 0.707\n\n`Cart.total`, shop/cart.py:12-13\n\n');
    expect(details).toContain('3 of 3 failing and 3 of 45 passing tests execute it.');
    expect(details).toContain('- `tests/test_cart.py::test_7`\n- and 2 more');
  });
});
