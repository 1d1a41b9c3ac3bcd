import { describe, expect, it } from 'vitest';

import { moved } from '../src/suspects/lines';

const change = (from: [number, number], to: [number, number], text: string) => ({
  range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } },
  text,
});

describe('moved', () => {
  it.each([
    ['lines put in above', change([0, 0], [0, 0], 'a\nb\n'), 12],
    ['lines taken out above', change([2, 0], [5, 0], ''), 7],
    ['a line break right before it', change([10, 0], [10, 0], '\n'), 11],
    ['the end of the line before it', change([9, 4], [9, 4], '\n    x = 1'), 11],
    ['typing in it', change([10, 2], [10, 3], 'abc'), 10],
    ['a line break in the middle of it', change([10, 5], [10, 5], '\n'), 10],
    ['lines below', change([11, 0], [14, 0], 'x\n'), 10],
    ['a change that swallows it', change([8, 0], [12, 0], 'x\n'), 8],
    ['the line before joined to it', change([9, 3], [10, 0], ''), 9],
  ])('follows %s', (_what, edit, expected) => {
    expect(moved(10, [edit])).toBe(expected);
  });

  it('adds up changes made at once', () => {
    expect(moved(10, [change([0, 0], [0, 0], '\n\n'), change([4, 0], [5, 0], '')])).toBe(11);
  });
});
