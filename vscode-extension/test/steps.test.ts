import { expect, it } from 'vitest';
import type { Step } from '../src/protocol';
import { stepDetail, stepLabel } from '../src/runs/stepsView';

const position = { line: 1, character: 0 };
const step: Step = {
  ...{ uri: 'file:///project/tax.py', range: { start: position, end: position }, file: 'shop/tax.py', line: 2 },
  ...{ source: 'RATE = 0.7', value: '0.7', instance: 1, rounds: 1, why: 'from', steps: [], more: 0 },
};

it('says which time a statement was executed, unless it was the first', () => {
  expect(stepDetail(step)).toBe('tax.py:2');
  expect(stepDetail({ ...step, instance: 3, more: 1 })).toBe('tax.py:2 · the 3rd time · 1 more elsewhere');
  expect(stepLabel({ ...step, instance: 3 })).toBe('from RATE = 0.7, value 0.7, shop/tax.py, line 2, the 3rd time');
});

it('says of a loop how many rounds a row stands for', () => {
  expect(stepDetail({ ...step, instance: 3, rounds: 3 })).toBe('tax.py:2 · 3 times');
});

it('says that it was executed while its module was imported', () => {
  expect(stepDetail({ ...step, instance: 0 })).toBe('tax.py:2 · at import');
  expect(stepLabel({ ...step, instance: 0 })).toBe('from RATE = 0.7, value 0.7, shop/tax.py, line 2, at import');
});
