/** The content of the panel that says what tells suspects apart. Knows nothing of VS Code. */

import { html, type Html } from './html';
import { t } from '../l10n';
import type { Answer } from '../protocol';

/** A headline, and a sentence in each paragraph. A click reports `location`. */
export function answer({ headline, sentences, location }: Answer): Html {
  return html`<h1>${headline}</h1>
${location ? html`<p><button data-action="location">${t('Go to the line')}</button></p>` : html``}
${sentences.map((sentence) => html`<p>${sentence}</p>`)}`;
}
