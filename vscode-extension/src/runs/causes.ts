/** What is known of the cause of a failure, and what makes the difference to a passing run, in a view of its own. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import type { Model } from '../model';
import { type Causes, type ComparedRuns, methods, serverCommands } from '../protocol';
import { type Heading, StepsView } from './stepsView';

export class CausesView implements vscode.Disposable {
  private readonly view = new StepsView('suspectra.causes');
  private readonly disposables: vscode.Disposable;
  private requests = 0;
  private last = '';
  private searching = false;
  private hasChain = false;

  constructor(
    private readonly server: Server,
    private readonly model: Model,
  ) {
    this.disposables = vscode.Disposable.from(
      this.view,
      model.onDidProgress(() => void this.refresh()),
      model.onDidChange(() => void this.refresh()),
      server.onDidExecute(({ command }) => {
        if (command === serverCommands.comparePassing || command === serverCommands.clearComparison) {
          void this.refresh();
        }
      }),
    );
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private async refresh(): Promise<void> {
    const request = ++this.requests;
    const [causes, compared] = await Promise.all([
      this.ask<Causes>(methods.causes),
      this.ask<ComparedRuns>(methods.comparison),
    ]);
    const chain = compared?.chain.length ? compared : null;
    const now = JSON.stringify([{ ...causes, seconds: 0 }, chain]);
    if (request !== this.requests || now === this.last) {
      return;
    }
    this.last = now;
    const begins = (causes !== null && causes.searching && !this.searching) || (chain !== null && !this.hasChain);
    const ended = causes !== null && this.searching && !causes.searching;
    this.searching = causes?.searching ?? false;
    this.hasChain = chain !== null;
    void vscode.commands.executeCommand('setContext', 'suspectra.hasCauses', causes !== null);
    void vscode.commands.executeCommand('setContext', 'suspectra.hasDifference', chain !== null);
    const rows = [...(chain ? differences(chain) : []), ...(causes ? headings(causes) : [])];
    const texts = [...(chain ? [chain.found, ...chain.notes] : []), ...(causes ? [causesText(causes)] : [])];
    this.view.show(rows, texts.join(' — '), begins);
    if (ended) {
      this.view.announce(causes.roots.length ? causes.found : t('No cause was found'));
    }
  }

  /** What a request gives; null where there is no server, or nothing to be known. */
  private async ask<Result>(method: string): Promise<Result | null> {
    return 'technique' in this.model.condition
      ? this.server.request<Result | null>(method, {}).catch(() => null)
      : null;
  }
}

/** What makes the difference between a failing and a passing run. */
export function differences({ test, chain }: ComparedRuns): Heading[] {
  return [{ heading: t('What makes the difference for {0}', test.replace(/.*::/, '')), steps: chain }];
}

/** The parts of the tree that have steps. */
export function headings({ roots, chain, transitive, around }: Causes): Heading[] {
  const others = transitive.filter((one) => !chain.some(({ uri, line }) => uri === one.uri && line === one.line));
  return [
    { heading: t('Probable causes'), steps: roots },
    { heading: t('On the way to the failure'), steps: chain.slice(1) },
    { heading: t('Also suspected'), steps: others },
    { heading: t('Statements nearby'), steps: around.slice(0, 8) },
  ].filter(({ steps }) => steps.length);
}

/** What the search has found by now. */
export function causesText({ test, found, searching, roots, alterations, complete, problems }: Causes): string {
  const runs = alterations === 1 ? t('1 altered run') : t('{0} altered runs', alterations);
  const state = searching
    ? t('Searching: {0}', found || t('tracing the test'))
    : roots.length
      ? found
      : t('No cause was found');
  const end = searching || complete ? runs : t('{0}, stopped before the end', runs);
  const sentences = problems.map((problem) => `${problem.replace(/\.$/, '')}.`);
  return [[test, state, end].filter(Boolean).join(' · '), ...sentences].join(' — ');
}
