/** HTML in which any text is safe. Knows nothing of VS Code. */

export class Html {
  constructor(readonly text: string) {}
}

type Value = Html | string | number | readonly Html[];

/** A template whose values are escaped, unless they are HTML themselves. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.reduce((text, part, index) => text + safe(values[index - 1] ?? '') + part));
}

/** A sentence in which what is between backticks is code. */
export function withCode(sentence: string): Html {
  const parts = sentence.split(/`([^`]+)`/);
  return html`${parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : html`${part}`))}`;
}

function safe(value: Value): string {
  if (value instanceof Html) {
    return value.text;
  }
  return typeof value === 'object' ? value.map(safe).join('') : escaped(String(value));
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A whole page for a webview. It runs its own script only, and loads nothing. */
export function page(title: string, style: string, script: string, nonce: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body><main id="content" aria-live="polite"></main><script nonce="${nonce}">${new Html(script)}</script></body>
</html>`.text;
}
