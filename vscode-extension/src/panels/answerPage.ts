/** The content of the panel that says what tells suspects apart. Knows nothing of VS Code. */

import { html, type Html, withCode } from './html';
import { t } from '../l10n';
import type { Answer } from '../protocol';

/**
 * A headline, and a sentence in each paragraph; lines that begin with spaces are code. What can be done comes after that.
 * A click reports `location`, `undo` or `fix`.
 *
 * @param doing - What is done now to find out more; undefined once this is the whole answer.
 */
export function answer({ headline, sentences, location, change, fix }: Answer, doing?: string): Html {
  const actions = html`<p class="actions">
    ${location ? html`<button data-action="location">${t('Go to the Line')}</button>` : html``}
    ${change ? html`<button data-action="undo">${t('Undo This Change')}</button>` : html``}
    ${fix ? html`<button data-action="fix">${t('Apply the Change…')}</button>` : html``}
  </p>`;
  const found = parts(sentences);
  const shown = found.map((part) => (isCode(part) ? html`<pre>${lines(part)}</pre>` : html`<p>${withCode(part)}</p>`));
  const before = isCode(found[1] ?? '') ? 2 : 1; // the code that the first sentence is about belongs to it
  const searching =
    doing === undefined ? html`` : html`<p class="soft searching">${t('Still finding out more. {0}…', doing)}</p>`;
  return html`<h1>${withCode(headline)}</h1>
${searching}
${shown.slice(0, before)}
${location || change || fix ? actions : html``}
${shown.slice(before)}`;
}

const isCode = (part: string) => part.startsWith(' ');

/** Sentences, and lines of code that belong together. */
function parts(sentences: readonly string[]): string[] {
  const found: string[] = [];
  for (const sentence of sentences) {
    const last = found.at(-1);
    if (isCode(sentence) && last !== undefined && isCode(last)) {
      found.splice(-1, 1, `${last}\n${sentence}`);
    } else {
      found.push(sentence);
    }
  }
  return found;
}

/** Lines without what all are indented by; columns are not kept apart, as a narrow panel wraps. */
function lines(code: string): Html[] {
  const all = code.split('\n');
  const indent = Math.min(...all.map((line) => line.search(/\S|$/)));
  return all.map((line) => html`<div class="line">${line.slice(indent).replace(/(\S) {3,}/g, '$1  ')}</div>`);
}
