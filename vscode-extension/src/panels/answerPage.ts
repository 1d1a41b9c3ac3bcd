/** The content of the panel that says what tells suspects apart. Knows nothing of VS Code. */

import { html, type Html, withCode } from './html';
import { t } from '../l10n';
import type { Answer } from '../protocol';

/**
 * A headline, and a sentence in each paragraph; lines that begin with spaces are code. What can be done comes after that.
 * A click reports `location` or `undo`.
 */
export function answer({ headline, sentences, location, change }: Answer): Html {
  const actions = html`<p class="actions">
    ${location ? html`<button data-action="location">${t('Go to the Line')}</button>` : html``}
    ${change ? html`<button data-action="undo">${t('Undo This Change')}</button>` : html``}
  </p>`;
  const [first, ...others] = parts(sentences).map((part) =>
    isCode(part) ? html`<pre>${dedented(part)}</pre>` : html`<p>${withCode(part)}</p>`,
  );
  return html`<h1>${withCode(headline)}</h1>
${first ?? html``}
${location || change ? actions : html``}
${others}`;
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

function dedented(code: string): string {
  const lines = code.split('\n');
  const indent = Math.min(...lines.map((line) => line.search(/\S|$/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}
