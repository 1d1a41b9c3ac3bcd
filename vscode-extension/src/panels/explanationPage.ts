/** The content of the panel that explains a suspect. Knows nothing of VS Code. */

import { Html, html, withCode } from './html';
import { t } from '../l10n';
import type { ExplanationMessage, Test } from '../protocol';
import { locationText, scoreText, suspectName } from '../messages';

export const STYLE = `
.chart { display: grid; gap: 0.3em 0.8em; grid-template-columns: max-content minmax(6em, 22em) 1fr; align-items: center; margin: 0.6em 0; }
.chart svg { display: block; height: 1em; width: 100%; }
.chart .rest { fill: var(--vscode-editorWidget-border, currentColor); opacity: 0.45; }
.chart .failing { fill: var(--vscode-testing-iconFailed, var(--vscode-errorForeground)); }
.chart .passing { fill: var(--vscode-testing-iconPassed, var(--vscode-charts-green)); }
`;

/** Clicks report `location`, `failing 0`, `passing 3`, or one of these. */
export const ACTIONS = ['debug', 'why', 'fix', 'next'] as const;
export type Action = (typeof ACTIONS)[number];

const EXECUTED = () => ({
  tests: t('Tests that execute it'),
  failing: t('Failing tests that execute it'),
  passing: t('Passing tests that execute it'),
  none: t('No passing test executes it.'),
});

/** Of a statement that runs at import. */
const READ = () => ({
  tests: t('Tests that may read what it defines'),
  failing: t('Failing tests that may read what it defines'),
  passing: t('Passing tests that may read what it defines'),
  none: t('No passing test reads what it defines.'),
});

/** Why a statement has its rank. */
export function explanation(reasons: ExplanationMessage): Html {
  const { location, failing, passing, ef, ep, nf, np } = reasons;
  const heads = reasons.onlyRead ? READ() : EXECUTED();
  return html`<h1>${withCode(reasons.headline)}</h1>
${reasons.group ? html`<p class="bad">${reasons.group}</p>` : html``}
<p><button data-action="location">${locationText(location)}</button> <span class="soft">${t('in {0}', suspectName(location))}</span></p>
<pre>${location.source}</pre>
${state(reasons)}
${reasons.sentences.map((sentence) => html`<p>${withCode(sentence)}</p>`)}
<h2>${heads.tests}</h2>
<div class="chart">
${share(t('failing'), 'failing', ef, ef + nf)}
${share(t('passing'), 'passing', ep, ep + np)}
</div>
<div class="actions">${actions()}</div>
<h2>${heads.failing}</h2>
${list('failing', failing, ef)}
${
  ep
    ? html`<h2>${heads.passing}</h2>
<details id="passing"${new Html(ep <= 5 ? ' open' : '')}><summary>${ep === 1 ? t('1 test') : t('{0} tests', ep)}</summary>
${list('passing', passing, ep)}</details>`
    : html`<p class="soft">${heads.none}</p>`
}
${reasons.formula ? formula(reasons) : new Html('')}`;
}

/** The content for a line that is not a suspect any more. */
export function noLongerSuspect(location: string): Html {
  return html`<h1>${location}</h1>
<p class="notice">${t('This line is not a suspect any more: no failing test executes it as it is now, or it was edited since the tests ran.')}</p>
<div class="actions"><button data-action="next">${t('Next Suspect')}</button></div>`;
}

/** The content for a line that was a suspect until no test failed any more. */
export function nothingFails(location: string): Html {
  return html`<h1>${location}</h1>
<p class="notice">${t('No test failed in the last run, so this line is not a suspect any more.')}</p>`;
}

/** The content while no server runs. */
export function serverNotRunning(location: string): Html {
  return html`<h1>${location}</h1><p class="soft">${t('The server is not running.')}</p>`;
}

function state({ examined, innocent }: ExplanationMessage): Html {
  const words = innocent ? t('You marked it as innocent.') : t('You marked it as examined.');
  return examined || innocent ? html`<p class="notice">${words}</p>` : html``;
}

function share(name: string, kind: string, part: number, whole: number): Html {
  const words = t('{0} of {1}', part, whole);
  const width = whole ? (100 * part) / whole : 0;
  return html`<span>${name}</span>
<svg role="img" aria-label="${name}: ${words}" viewBox="0 0 100 10" preserveAspectRatio="none"><rect class="rest" width="100" height="10"/><rect class="${kind}" width="${width}" height="10"/></svg>
<span>${words}</span>`;
}

function formula({ technique, score, formula, substituted }: ExplanationMessage): Html {
  return html`<details id="formula"><summary>${t('How is this computed?')}</summary>
<p>${t('The score by {0} is {1}', technique, scoreText(score))}</p>
<pre>${formula}
${substituted}</pre></details>`;
}

/** What one does next; rows of the view and the light bulb have more. */
function actions(): Html[] {
  const button = (action: Action, words: string) => html`<button data-action="${action}">${words}</button>`;
  return [
    button('debug', t('Debug')),
    button('why', t('Why?')),
    button('fix', t('Find a Fix')),
    button('next', t('Next Suspect')),
  ];
}

function list(kind: 'failing' | 'passing', tests: Test[], all: number): Html {
  const more = all - tests.length;
  return html`<ul>
${tests.map((test, index) => {
  const name = test.uri
    ? html`<button data-action="${kind} ${index}"><code>${test.name}</code></button>`
    : html`<code>${test.name}</code>`;
  return html`<li>${name}${test.message ? html`<br><span class="bad">${test.message}</span>` : html``}${test.calls.map((call) => html`<br><code class="soft">${call}</code>`)}</li>`;
})}
${more > 0 ? html`<li class="soft">${t('and {0} more', more)}</li>` : html``}
</ul>`;
}
