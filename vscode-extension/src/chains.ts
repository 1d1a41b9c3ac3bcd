/** The panel beside the code that shows the debugging model around the reader's statement. */

import * as vscode from 'vscode';

import { chainPage, noChain, STYLE } from './chainPage';
import type { Server } from './client';
import { t } from './l10n';
import type { Model } from './model';
import { Panel } from './panel';
import { open } from './locations';
import { type Chain, destination, methods } from './protocol';
import { locationText } from './messages';

export class Chains implements vscode.Disposable {
  private readonly panel = new Panel('suspectra.chain', t('Where to Look Next'), STYLE, (action) => this.act(action));
  private readonly disposables: vscode.Disposable;
  private at: { uri: string; line: number } | undefined;
  private chain: Chain | null | undefined;
  private requests = 0;

  constructor(
    private readonly server: Server,
    model: Model,
  ) {
    this.disposables = vscode.Disposable.from(
      this.panel,
      server.onDidExecute((done) => {
        const target = destination(done);
        if (target && this.panel.open) {
          this.at = { uri: target.uri, line: target.range.start.line };
          void this.refresh(false);
        }
      }),
      model.onDidChange(() => this.panel.open && void this.refresh(false)),
    );
  }

  /** Show the model around a line, counted from 0. */
  async show(uri: string, line: number): Promise<void> {
    this.at = { uri, line };
    await this.refresh(true);
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async refresh(reveal: boolean): Promise<void> {
    if (!this.at) {
      return;
    }
    const { uri, line } = this.at;
    const request = ++this.requests;
    const chain = await this.server.request<Chain | null>(methods.chain, { uri, line }).catch(() => undefined);
    if (request !== this.requests || chain === undefined) {
      return;
    }
    this.chain = chain;
    const location = chain?.nodes[0]?.location;
    const from = location
      ? locationText(location)
      : `${vscode.workspace.asRelativePath(vscode.Uri.parse(uri), false)}:${line + 1}`;
    const content = chain ? chainPage(chain, from) : noChain(from);
    if (reveal) {
      this.panel.show(content);
    } else {
      this.panel.update(content);
    }
  }

  private act(action: string): void {
    const [kind, id] = action.split(' ');
    const location = this.chain?.nodes.find((node) => node.id === Number(id))?.location;
    if (kind === 'node' && location) {
      void open(location.uri, location.range.start.line, location.range.start.character);
    }
  }
}
