/** The content of the panel that says what tells suspects apart. Knows nothing of VS Code. */

import { html, type Html } from './html';
import { t } from '../l10n';
import type { Answer } from '../protocol';

const DIFFERENCE = /^(\S+:[\d-]+\s+)?[−+] /;

/** A headline, and a sentence in each paragraph; lines of a difference are code. A click reports `location`. */
export function answer({ headline, sentences, location }: Answer): Html {
  return html`<h1>${headline}</h1>
${location ? html`<p><button data-action="location">${t('Go to the line')}</button></p>` : html``}
${sentences.map((sentence) => (DIFFERENCE.test(sentence) ? html`<pre>${sentence}</pre>` : html`<p>${sentence}</p>`))}`;
}
