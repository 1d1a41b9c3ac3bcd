/** The panel beside the code that explains a suspect. */

import * as vscode from 'vscode';

import type { Server } from './client';
import { type Explanation, serverCommands } from './protocol';

export class Explanations implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private panel: vscode.WebviewPanel | undefined;

  /** Shows what `suspectra.explain` answers, whoever asked. */
  constructor(server: Server) {
    this.listener = server.onDidExecute(({ command, result }) => {
      if (command === serverCommands.explain && result) {
        void this.show(result as Explanation);
      }
    });
  }

  dispose(): void {
    this.listener.dispose();
    this.panel?.dispose();
  }

  private async show({ markdown }: Explanation): Promise<void> {
    const html = await vscode.commands.executeCommand<string>('markdown.api.render', markdown);
    this.panel ??= this.open();
    this.panel.webview.html = page(html);
    this.panel.reveal(undefined, true);
  }

  private open(): vscode.WebviewPanel {
    // The reader goes on in the code: the panel never takes the focus.
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel('suspectra.explanation', 'Explain Suspect', column);
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    return panel;
  }
}

function page(body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
  body { line-height: 1.5; padding: 0 1.2em; }
  h1, h2, h3 { font-weight: 600; line-height: 1.25; }
  h1 { font-size: 1.4em; }
  h2 { font-size: 1.2em; }
  code { font-family: var(--vscode-editor-font-family); overflow-wrap: anywhere; }
  table { border-collapse: collapse; margin: 1em 0; }
  th, td { border: 1px solid var(--vscode-panel-border); padding: 0.2em 0.8em; text-align: left; }
</style>
<title>Explain Suspect</title>
</head>
<body>${body}</body>
</html>`;
}
