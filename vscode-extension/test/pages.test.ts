import { describe, expect, it } from 'vitest';

import { answer } from '../src/panels/answerPage';
import { explanation, noLongerSuspect, nothingFails } from '../src/panels/explanationPage';
import { html, page, withCode } from '../src/panels/html';
import { format, setTranslator, t } from '../src/l10n';
import type { CodeLocation, ExplanationMessage, Test } from '../src/protocol';

const location: CodeLocation = {
  uri: 'file:///project/shop/cart.py',
  range: { start: { line: 11, character: 4 }, end: { line: 11, character: 20 } },
  file: 'shop/cart.py',
  line: 12,
  function: 'Cart.total',
  source: 'return a < b',
  rankBest: 1,
  rankWorst: 1,
  steps: 1,
};

const test: Test = {
  name: 'tests/t.py::test_<x>',
  verdict: 'failed',
  message: 'assert 1 == "2"',
  failed: null,
  compared: null,
  calls: [],
  seconds: 0,
  uri: location.uri,
  line: 3,
};

const reasons: ExplanationMessage = {
  location,
  technique: 'Ochiai',
  score: 0.7,
  ef: 3,
  ep: 8,
  nf: 1,
  np: 40,
  headline: 'Rank 1',
  group: '',
  sentences: ['First.', 'Second.'],
  formula: 'ef / √(F·(ef + ep))',
  substituted: '3 / √(4·11)',
  failing: [test],
  passing: [{ ...test, name: 'tests/t.py::test_ok', verdict: 'passed', message: '', uri: null, line: null }],
  onlyRead: false,
  examined: false,
  innocent: false,
};

describe('what tells suspects apart', () => {
  it('is a headline and sentences, with names of tests as text', () => {
    const told = {
      markdown: '',
      headline: 'Why not a.py:3?',
      sentences: ['test_<x> passes.'],
      location: null,
      change: null,
      fix: null,
    };
    const { text } = answer(told);
    expect(text).toContain('<h1>Why not a.py:3?</h1>');
    expect(text).toContain('<p>test_&#60;x&#62; passes.</p>');
    expect(text).not.toContain('data-action');
    const there = { uri: location.uri, range: location.range };
    expect(answer({ ...told, location: there }).text).toContain('data-action="location"');
    expect(answer({ ...told, location: there }).text).not.toContain('data-action="undo"');
  });

  it('shows lines of a difference as code', () => {
    const sentences = ['    a.py:3  − x = 1', '            + x = 2', 'This is certain.'];
    const change = { uri: location.uri, range: location.range };
    const told = { markdown: '', headline: 'Your change broke it:', sentences, location: null, change, fix: null };
    const { text } = answer(told);
    expect(text).toContain('<div class="line">a.py:3  − x = 1</div><div class="line">        + x = 2</div>');
    expect(text).toContain('<p>This is certain.</p>');
    expect(text.indexOf('</pre>')).toBeLessThan(text.indexOf('data-action="undo"')); // it belongs to the headline
    expect(text).not.toContain('data-action="fix"');
  });

  it('says what is done as long as it is not the whole answer', () => {
    const told = { markdown: '', headline: 'Look at a.py:3 first.', sentences: ['    x < 1'], location: null };
    const known = { ...told, change: null, fix: null };
    expect(answer(known, 'Trying <what> makes it pass').text).toContain('Trying &#60;what&#62; makes it pass…');
    expect(answer(known).text).not.toContain('Still');
  });

  it('offers the change that it ends with, below that', () => {
    const sentences = ['The failing test passes with this change:', '    − x = 1', '    + x = 2', 'This is likely.'];
    const told = { markdown: '', headline: 'Most likely a.py:3 is wrong.', sentences, location: null, change: null };
    const { text } = answer({ ...told, fix: { changes: {} } });
    expect(text).toContain('<pre><div class="line">− x = 1</div><div class="line">+ x = 2</div></pre>');
    expect(text.indexOf('</pre>')).toBeLessThan(text.indexOf('data-action="fix"'));
    expect(text.indexOf('data-action="fix"')).toBeLessThan(text.indexOf('This is likely.'));
  });
});

describe('html', () => {
  it('shows what is between backticks as code', () => {
    expect(withCode('`a < b` → `b` repairs 2 tests').text).toBe(
      '<code>a &#60; b</code> → <code>b</code> repairs 2 tests',
    );
    expect(withCode('no `end').text).toBe('no `end');
  });

  it('escapes everything but HTML', () => {
    expect(html`<p title="${'"'}">${'<b>&'}${html`<i>${1}</i>`}${[html`a`, html`b`]}</p>`.text).toBe(
      '<p title="&#34;">&#60;b>&#38;<i>1</i>ab</p>'.replace('b>&', 'b&#62;&'),
    );
  });

  it('makes pages that load nothing and run one script', () => {
    const text = page('A & B', 'p {}', 'run()', 'once');
    expect(text).toContain("default-src 'none'");
    expect(text).toContain("script-src 'nonce-once'");
    expect(text).not.toMatch(/https?:/);
    expect(text.match(/<script/g)).toHaveLength(1);
  });
});

describe('an explanation', () => {
  const text = explanation(reasons).text;

  it('says counts in words beside the chart', () => {
    expect(text).toContain('aria-label="failing: 3 of 4"');
    expect(text).toContain('class="failing" width="75"');
    expect(text).toContain('<span>8 of 48</span>');
  });

  it('says of what runs at import which tests read it', () => {
    expect(text).toContain('Failing tests that execute it');
    const read = explanation({ ...reasons, onlyRead: true, ep: 0, passing: [] }).text;
    expect(read).toContain('Failing tests that may read what it defines');
    expect(read).toContain('No passing test reads what it defines.');
    expect(read).not.toContain('execute');
  });

  it('escapes sources, names and messages', () => {
    expect(text).toContain('return a &#60; b');
    expect(text).toContain('test_&#60;x&#62;');
    expect(text).toContain('assert 1 == &#34;2&#34;');
  });

  it('lets tests be opened whose place is known, and says how many are left out', () => {
    expect(text).toContain('data-action="failing 0"');
    expect(text).not.toContain('data-action="passing 0"');
    expect(text).toContain('and 2 more');
    expect(text).toContain('and 7 more');
  });

  it('offers four things to do', () => {
    const offered = [...text.matchAll(/data-action="(\w+)">/g)].map(([, action]) => action);
    expect(offered.filter((action) => action !== 'location')).toEqual(['debug', 'why', 'fix', 'next']);
  });

  it('says what the reader marked', () => {
    const marked = explanation({ ...reasons, examined: true, innocent: true }).text;
    expect(marked).toContain('You marked it as innocent');
  });

  it('says when a line is not a suspect any more', () => {
    expect(noLongerSuspect('a.py:3').text).toContain('not a suspect any more');
    expect(nothingFails('a.py:3').text).toContain('No test failed in the last run');
    expect(nothingFails('a.py:3').text).not.toContain('data-action="next"');
  });
});

describe('texts', () => {
  it('are filled in, and translated once there is a translator', () => {
    expect(t('{0} of {1}', 1, 2)).toBe('1 of 2');
    expect(format('{1} {0} {2}', 'a')).toBe('{1} a {2}');
    setTranslator((message) => `[${message}]`);
    expect(t('{0} of {1}', 1, 2)).toBe('[{0} of {1}]');
    setTranslator(format);
  });
});
