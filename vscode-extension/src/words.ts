/** What people read: texts for statuses and suspects. Knows nothing of VS Code. */

import type { Status, Suspect, Suspects } from './protocol';

/** What the extension itself may add to the server's states: it is on its way, or it can't be started. */
export type Condition =
  | Status
  | { state: 'starting' }
  | { state: 'installing'; message: string }
  | { state: 'noServer'; problem: string; cure: string };

export interface StatusWords {
  /** With VS Code's `$(icon)` marks. */
  text: string;
  tooltip: string;
  /** For a screen reader. */
  label: string;
  warning: boolean;
}

/** The text of the status item. */
export function statusWords(condition: Condition): StatusWords {
  const words = (icon: string, said: string, tooltip: string, warning = false): StatusWords => ({
    text: `$(${icon}) ${said}`,
    tooltip,
    label: `Suspectra: ${said}`,
    warning,
  });
  switch (condition.state) {
    case 'starting':
      return words('loading~spin', 'Suspectra', 'Starting the server');
    case 'installing':
      return words('loading~spin', 'Installing', `${condition.message}. Click to see the progress`);
    case 'noServer':
      return words('warning', 'Suspectra', `${condition.problem}. To mend it: ${condition.cure}`, true);
    case 'noEvidence':
      return words('search', 'No test run', condition.message || 'There is no recorded test run yet');
    case 'ranking':
      return words('loading~spin', 'Ranking', condition.message || 'Ranking the suspects');
    case 'runningTests':
      return words('loading~spin', 'Running tests', condition.message || 'Recording a test run');
    case 'noFailingTests':
      return words('pass', 'No failing test', condition.message || 'No test failed in the last run');
    case 'error':
      return words('warning', 'Suspectra', condition.message, true);
    case 'ready':
      return words('search', plural(condition.suspects, 'suspect'), runWords(condition));
    case 'stale':
      return words(
        'history',
        plural(condition.suspects, 'suspect'),
        condition.message || `${runWords(condition)}. The sources have changed since`,
      );
  }
}

function runWords({ technique, failed, passed }: Status): string {
  return `${technique} over ${plural(failed, 'failing test')} and ${passed} passing`;
}

/** The line above the suspects: what ranked them. */
export function reportWords(report: Suspects): string {
  const cloning = report.cloneFailed ? ' with cloning' : '';
  return `${report.technique}${cloning} · ${report.failed} failed, ${report.passed} passed`;
}

/** The rank as people read it: ties share a span. */
export function rankWords(suspect: Pick<Suspect, 'rankBest' | 'rankWorst'>): string {
  const { rankBest, rankWorst } = suspect;
  return rankBest === rankWorst ? `${rankBest}` : `${rankBest}–${rankWorst}`;
}

/** Scores have no common scale: three significant digits serve all of them. */
export function scoreWords(score: number): string {
  if (Math.abs(score) === Number.MAX_VALUE) {
    return score > 0 ? '∞' : '-∞';
  }
  return Number.isInteger(score) ? `${score}` : `${Number(score.toPrecision(3))}`;
}

/** What is suspected, by its qualified name. */
export function suspectName(suspect: Suspect): string {
  return suspect.function || '(module level)';
}

/** The main text of a row. The class is left to the tooltip, so that the line number stays in sight. */
export function shortName(suspect: Suspect): string {
  return suspectName(suspect).replace(/.*\./, '');
}

/** Where it is. */
export function suspectPlace(suspect: Suspect): string {
  const lines = suspect.endLine > suspect.line ? `${suspect.line}-${suspect.endLine}` : `${suspect.line}`;
  return `${suspect.file}:${lines}`;
}

/** A row for a screen reader, colours and icons put into words. */
export function suspectLabel(suspect: Suspect): string {
  return [
    `Rank ${rankWords(suspect).replace('–', ' to ')}`,
    suspectName(suspect),
    suspectPlace(suspect).replace(/:(\d.*)$/, ', line $1'),
    `score ${scoreWords(suspect.score)}`,
    `${suspect.band} suspicion`,
    ...(suspect.examined ? ['examined'] : []),
  ].join(', ');
}

/** Everything about a row, as Markdown. */
export function suspectDetails(suspect: Suspect, technique: string): string {
  const shown = suspect.failingTests.slice(0, 8).map((test) => `- \`${test}\``);
  const more = suspect.failingTests.length - shown.length;
  return [
    `**Rank ${rankWords(suspect)}** · ${technique} ${scoreWords(suspect.score)}`,
    `\`${suspectName(suspect)}\`, ${suspectPlace(suspect)}`,
    `${suspect.ef} of ${suspect.ef + suspect.nf} failing and ${suspect.ep} of ${suspect.ep + suspect.np} passing tests execute it.`,
    ...(shown.length ? [[`Failing tests:`, '', ...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')] : []),
  ].join('\n\n');
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
