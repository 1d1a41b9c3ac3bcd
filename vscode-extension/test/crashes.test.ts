import { expect, it } from 'vitest';

import { Crashes } from '../src/crashes';

it('forgives a few crashes, each with a longer pause, and then no more', () => {
  const crashes = new Crashes(() => 0);
  expect([1, 2, 3, 4, 5, 6].map(() => crashes.count())).toEqual([0, 1000, 3000, 9000, undefined, undefined]);
});

it('forgives again when time has passed, or someone has seen to it', () => {
  let now = 0;
  const crashes = new Crashes(() => now);
  for (let i = 0; i <= Crashes.max; i += 1) {
    crashes.count();
  }
  now = Crashes.minutes * 60_000 + 1;
  expect(crashes.count()).toBe(0);
  expect(crashes.count()).toBe(1000);
  crashes.reset();
  expect(crashes.count()).toBe(0);
});
