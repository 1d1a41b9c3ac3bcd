/** A panel beside the code that shows HTML and reports clicks. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

import { type Html, page } from './html';

/** The script in the panel: it shows each message as content, keeps details open, and reports clicks on `data-action`. */
const SCRIPT = `
const editor = acquireVsCodeApi();
const content = document.getElementById('content');
addEventListener('message', ({ data }) => {
  const open = new Set([...content.querySelectorAll('details[open]')].map(({ id }) => id));
  content.innerHTML = data;
  for (const details of content.querySelectorAll('details')) {
    details.open ||= open.has(details.id);
  }
});
const report = (event) => {
  const element = event.target.closest?.('[data-action]');
  if (element && (event.type === 'click' || event.key === 'Enter' || event.key === ' ')) {
    event.preventDefault();
    editor.postMessage(element.getAttribute('data-action'));
  }
};
addEventListener('click', report);
addEventListener('keydown', (event) => event.target.tagName !== 'BUTTON' && report(event));
editor.postMessage('ready');
`;

const STYLE = `
body { line-height: 1.5; padding: 0.4em 1.2em 2em; max-width: 60em; }
h1 { font-size: 1.35em; font-weight: 600; line-height: 1.3; margin: 0.6em 0 0.3em; }
h2 { font-size: 1.05em; font-weight: 600; margin: 1.6em 0 0.4em; }
p { margin: 0.4em 0; }
code, pre { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); }
pre { background: var(--vscode-textCodeBlock-background); margin: 0.5em 0; overflow-x: auto; padding: 0.5em 0.8em; white-space: pre-wrap; }
.line { padding-left: 2em; text-indent: -2em; }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: 0.1em 0; }
.soft { color: var(--vscode-descriptionForeground); }
.bad { color: var(--vscode-errorForeground); }
button { background: none; border: none; color: var(--vscode-textLink-foreground); cursor: pointer; font: inherit; padding: 0; text-align: left; }
h1, p, li, button, code { overflow-wrap: anywhere; }
button code { background: none; color: inherit; padding: 0; }
button:hover { text-decoration: underline; }
button:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5em; margin: 1em 0; }
.actions button { background: var(--vscode-button-secondaryBackground); border: 1px solid var(--vscode-button-border, transparent); color: var(--vscode-button-secondaryForeground); padding: 0.2em 0.8em; }
.actions button:hover { background: var(--vscode-button-secondaryHoverBackground); text-decoration: none; }
.notice { border-left: 3px solid var(--vscode-editorWarning-foreground); padding: 0.2em 0.8em; }
summary { cursor: pointer; }
`;

export class Panel implements vscode.Disposable {
  private view: vscode.WebviewPanel | undefined;
  private content = '';

  /**
   * @param type - The type of the panel, for VS Code.
   * @param style - CSS after that of all panels.
   * @param onAction - Called with the `data-action` of what was clicked. It is only compared with known words.
   */
  constructor(
    private readonly type: string,
    private readonly title: string,
    private readonly style: string,
    private readonly onAction: (action: string) => void,
  ) {}

  get open(): boolean {
    return this.view !== undefined;
  }

  /** Show this content, and open the panel if it is closed. The focus stays in the code. */
  show(content: Html, title = this.title): void {
    const previous = this.view;
    this.view ??= this.make();
    this.update(content, title);
    if (previous && !previous.visible) {
      previous.reveal(undefined, true);
    }
  }

  /** Show this content if the panel is open. */
  update(content: Html, title = this.title): void {
    this.content = content.text;
    if (this.view) {
      this.view.title = title;
      void this.view.webview.postMessage(this.content);
    }
  }

  dispose(): void {
    this.view?.dispose();
  }

  private make(): vscode.WebviewPanel {
    const view = vscode.window.createWebviewPanel(
      this.type,
      this.title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [] },
    );
    view.webview.onDidReceiveMessage((message: unknown) => {
      if (message === 'ready') {
        void view.webview.postMessage(this.content);
      } else if (typeof message === 'string') {
        this.onAction(message);
      }
    });
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = page(this.title, STYLE + this.style, SCRIPT, randomBytes(18).toString('base64url'));
    return view;
  }
}
