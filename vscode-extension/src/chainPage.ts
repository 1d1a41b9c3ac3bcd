/** The content of the panel that shows the debugging model around a statement. Knows nothing of VS Code. */

import { Html, html } from './html';
import { t } from './l10n';
import type { Chain } from './protocol';
import { percentText, locationText } from './messages';

export const STYLE = `
body { max-width: none; }
.picture { overflow-x: auto; }
svg { height: auto; max-width: 100%; min-width: 62em;
  --chain-ink: var(--vscode-editor-foreground); --chain-soft: var(--vscode-descriptionForeground);
  --chain-paper: var(--vscode-editor-background); --chain-line: var(--vscode-editorIndentGuide-activeBackground1, currentColor);
  --chain-accent: var(--vscode-textLink-foreground); }
svg [data-node] { cursor: pointer; }
table { border-collapse: collapse; margin: 0.5em 0; }
th, td { border-bottom: 1px solid var(--vscode-panel-border, currentColor); padding: 0.2em 1em 0.2em 0; text-align: left; }
td.number { text-align: right; }
`;

/** The picture, and a table of the moves from the current statement. */
export function chainPage(chain: Chain, from: string): Html {
  const [current] = chain.nodes;
  const names = new Map(chain.nodes.map(({ id, label }) => [id, label]));
  const moves = chain.edges
    .filter(({ source }) => source === current?.id)
    .toSorted((a, b) => b.probability - a.probability);
  return html`<h1>${t('Where a reader goes from {0}', from)}</h1>
<div class="picture">${clickable(chain)}</div>
<h2>${t('The next step')}</h2>
<table>
<tr><th>${t('to')}</th><th>${t('probability')}</th><th>${t('because')}</th></tr>
${moves.map(
  ({ target, probability, reasons }) => html`<tr><td>${link(chain, target, names.get(target) ?? '')}</td>
<td class="number">${percentText(probability)}</td><td>${reasons.join(', ')}</td></tr>`,
)}
</table>`;
}

/** The content where there is no model. */
export function noChain(from: string): Html {
  return html`<h1>${from}</h1>
<p class="notice">${t('There is no model around this line: it was not measured, or it was marked as innocent.')}</p>`;
}

function link(chain: Chain, id: number, label: string): Html {
  const location = chain.nodes.find((node) => node.id === id)?.location;
  return location ? html`<button data-action="node ${id}">${locationText(location)}</button>` : html`${label}`;
}

/** The server's picture with nodes to click. The server escapes it, and the panel runs no script from it. */
function clickable({ svg }: Chain): Html {
  return new Html(svg.replace(/data-node="(\d+)"/g, 'data-node="$1" data-action="node $1" tabindex="0" role="link"'));
}
