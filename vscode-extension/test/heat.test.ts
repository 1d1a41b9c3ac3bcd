import { describe, expect, it } from 'vitest';

import { bar, mark, heats } from '../src/suspects/heat';

describe('heats', () => {
  it('are relative to the highest score', () => {
    expect(heats([1, 0.81, 0.8, 0.5, 0.21, 0.2, 0.01, 0])).toEqual([5, 5, 4, 3, 2, 1, 1, 1]);
    expect(heats([200, 100])).toEqual([5, 3]);
  });

  it('make sense of negative scores', () => {
    expect(heats([2, 0, -2])).toEqual([5, 3, 1]);
    expect(heats([-1, -3])).toEqual([5, 1]);
  });

  it('leave the hottest to infinite scores', () => {
    expect(heats([Number.MAX_VALUE, 12, 6, -Number.MAX_VALUE])).toEqual([5, 4, 2, 1]);
  });

  it('are cool where nothing can be told apart at the bottom', () => {
    expect(heats([0, 0])).toEqual([1, 1]);
    expect(heats([0.7, 0.7])).toEqual([5, 5]);
    expect(heats([])).toEqual([]);
  });
});

describe('what shows them', () => {
  it('has a form as well as a colour', () => {
    expect(bar(2)).toBe('▰▰▱▱▱');
    for (const theme of ['dark', 'light'] as const) {
      expect(mark(4, theme).match(/opacity/g)).toHaveLength(1);
      expect(mark(5, theme)).not.toContain('opacity');
    }
  });
});
