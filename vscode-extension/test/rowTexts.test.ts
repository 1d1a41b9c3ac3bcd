import { describe, expect, it } from 'vitest';

import { badges, rowDetail, rowLabel, type RowSuspects, rowTitle, tiedLines } from '../src/suspects/rowTexts';
import { suspect } from './samples';

const at = (line: number, tie = 1, more = {}) => ({ ...suspect, line, endLine: line, tie, ...more });
const handleMatch: RowSuspects = [959, 957, 958, 960].map((line) =>
  at(line, 1, { function: 'AutolinkInlineProcessor.handleMatch', rankBest: 1, rankWorst: 4, source: `line ${line}` }),
) as unknown as RowSuspects;

describe('the row of a function', () => {
  it('has the name of its member, and the lines of its best tie', () => {
    expect(rowTitle(handleMatch, 'member')).toBe('handleMatch:957–960');
    expect(rowTitle([suspect], 'member')).toBe('total:12–13');
  });

  it('has the lines behind a long name, too', () => {
    const long = { ...suspect, function: 'parse_number_or_none_factory' };
    expect(rowTitle([long], 'member')).toBe('parse_number…one_factory:12–13');
    expect(rowLabel([long], true)).toContain('parse_number_or_none_factory');
  });

  it('names the file of code in no function, and the class of one of two members of a name', () => {
    expect(rowTitle([{ ...suspect, function: '' }], 'member')).toBe('cart.py:12–13');
    expect(rowTitle([suspect], 'qualified')).toBe('Cart.total:12–13');
  });

  it('needs no name below that of its function', () => {
    expect(rowTitle([suspect], 'line')).toBe('line 12–13');
  });

  it('has the source of its first suspect, after what is remarkable in any', () => {
    expect(rowDetail(handleMatch, 'member')).toBe('cart.py\u2002line 959');
    const [first, ...others] = handleMatch;
    const three = others.map((one) => ({ ...one, changed: 2 }));
    expect(rowDetail([first, { ...first, raised: true, repairs: 3 }, ...three], 'member')).toBe(
      'cart.py\u2002● changed · raised here · repairs 3/3\u2002line 959',
    );
  });

  it('is read out with everything that place, colour and icon say', () => {
    const [first, ...others] = handleMatch;
    const findings = ['`<` → `<=` repairs 3 tests and breaks none.'];
    expect(rowLabel([{ ...first, raised: true, findings, repairs: 3, file: 'md/inline.py' }, ...others], false)).toBe(
      'Rank 1 to 4, AutolinkInlineProcessor.handleMatch, md/inline.py, lines 957 to 960, score 0.707, high suspicion, ' +
        '`<` → `<=` repairs 3 tests and breaks none, raised here, repairs 3/3, line 959',
    );
    expect(rowLabel([{ ...suspect, endLine: 12, changed: 1, examined: true }], true)).toBe(
      'Rank 1, Cart.total, shop/cart.py, line 12, score 0.707, high suspicion, changed, return total, examined',
    );
  });

  it('is struck through once all of it is examined, but not for a screen reader', () => {
    const done = { ...suspect, examined: true };
    expect(rowTitle([done, suspect], 'member')).toBe(rowTitle([suspect, suspect], 'member'));
    const title = rowTitle([done, done], 'member');
    expect(title.replaceAll('\u0336', '')).toBe(rowTitle([suspect, suspect], 'member'));
    expect(title).toContain('\u0336');
    expect(rowLabel([done], true)).not.toContain('\u0336');
    expect(rowLabel([{ ...done, innocent: true }], true)).toMatch(/, innocent$/);
    expect(rowDetail([{ ...done, innocent: true }], 'line')).toBe('● innocent\u2002return total');
    expect(rowDetail([{ ...done, innocent: true }, done], 'line')).toBe('return total');
  });
});

describe('the lines of a tie', () => {
  it('are one span with what is between them, unless that is a suspect of another tie', () => {
    expect(tiedLines([at(59), at(61), at(66), at(70, 2)])).toBe('59–66');
    expect(tiedLines([at(59), at(61), at(60, 2), at(66)])).toBe('59, 61–66');
    expect(tiedLines([at(5)])).toBe('5');
  });

  it('are those of the first where there are too many spans', () => {
    const tied = [1, 3, 5, 7, 9].map((line) => at(line));
    const others = [2, 4, 6, 8].map((line) => at(line, 2));
    expect(tiedLines([at(7), ...tied, ...others])).toBe('7, …');
  });
});

it('counts the tests that the best alteration repairs', () => {
  expect(badges([suspect])).toEqual([]);
  expect(
    badges([
      { ...suspect, repairs: 1 },
      { ...suspect, repairs: 2 },
    ]),
  ).toEqual(['repairs 2/3']);
});
