/** What people read: texts for statuses and suspects. Knows nothing of VS Code. */

import { bar, type Heat } from './heat';
import { t } from './l10n';
import type { Jump, Learned, Move, Place, Progress, Status, Suspect, Suspects } from './protocol';

/** What the extension itself may add to the server's states: it is on its way, or it can't be started. */
export type Condition =
  | Status
  | { state: 'starting' }
  | { state: 'noFolder' }
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
      return words('loading~spin', 'Suspectra', t('Starting the server'));
    case 'noFolder':
      return words('search', 'Suspectra', t('Open a folder to rank what its tests execute'));
    case 'installing':
      return words('loading~spin', t('Installing'), t('{0}. Click to see the progress', condition.message));
    case 'noServer':
      return words('warning', 'Suspectra', t('{0}. Fix: {1}', condition.problem, condition.cure), true);
    case 'noEvidence':
      return words('search', t('No test run'), condition.message || t('There is no recorded test run yet'));
    case 'ranking':
      return words('loading~spin', t('Ranking'), condition.message || t('Ranking the suspects'));
    case 'runningTests':
      return words('loading~spin', progressWords(condition.progress), condition.message || t('Recording a test run'));
    case 'noFailingTests':
      return words('pass', t('No failing test'), condition.message || t('No test failed in the last run'));
    case 'error':
      return words('warning', 'Suspectra', condition.message, true);
    case 'ready':
      return words('search', countWords(condition.suspects), runWords(condition));
    case 'stale':
      return words(
        'history',
        countWords(condition.suspects),
        condition.message || t('{0}. The sources have changed since', runWords(condition)),
      );
  }
}

/** How far a run of the tests is. */
export function progressWords(progress: Progress | null): string {
  if (!progress?.done) {
    return t('Running tests');
  }
  const { done, total, failed } = progress;
  const counted = total ? t('{0} of {1} tests', done, total) : done === 1 ? t('1 test') : t('{0} tests', done);
  return failed ? t('{0}, {1} failed', counted, failed) : counted;
}

function countWords(suspects: number): string {
  return suspects === 1 ? t('1 suspect') : t('{0} suspects', suspects);
}

function runWords({ technique, failed, passed }: Status): string {
  return failed === 1
    ? t('{0} over 1 failing test and {1} passing', technique, passed)
    : t('{0} over {1} failing tests and {2} passing', technique, failed, passed);
}

/** The line above the suspects: what ranked them. */
export function reportWords(report: Suspects): string {
  const technique = report.cloneFailed ? t('{0} with cloning', report.technique) : report.technique;
  return t('{0} · {1} failed, {2} passed', technique, report.failed, report.passed);
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
export function suspectName(suspect: Pick<Suspect, 'function'>): string {
  return suspect.function || t('(module level)');
}

/** The main text of a row. The class is left to the tooltip, so that the line number stays in sight. */
export function shortName(suspect: Pick<Suspect, 'function'>): string {
  return suspectName(suspect).replace(/.*\./, '');
}

/** Where it is. */
export function suspectPlace(suspect: Suspect): string {
  const lines = suspect.endLine > suspect.line ? `${suspect.line}-${suspect.endLine}` : `${suspect.line}`;
  return `${suspect.file}:${lines}`;
}

/** The first text of a row: rank and name. What is done with is struck through. */
export function rowTitle(suspect: Suspect): string {
  const title = `${rankWords(suspect)}  ${shortName(suspect)}`;
  return suspect.examined ? struck(title) : title;
}

/** The second text of a row: place, score, and why. */
export function rowDetail(suspect: Suspect): string {
  const line = suspectPlace(suspect).replace(/.*\//, '');
  const place = suspect.folder ? `${suspect.folder} · ${line}` : line;
  const state = suspect.innocent ? `${t('innocent')} · ` : '';
  return `${place} · ${scoreWords(suspect.score)} · ${state}${whyWords(suspect)}`;
}

/** Why, in a few words. */
export function whyWords({ ef, ep, nf, np }: Suspect): string {
  return t('{0} of {1} failing, {2} of {3} passing', ef, ef + nf, ep, ep + np);
}

/** Struck through with combining characters: trees have no other way. A screen reader is given other words. */
export function struck(text: string): string {
  return text.replace(/./gsu, '$&\u0336');
}

/** A row for a screen reader, colours and icons put into words. */
export function suspectLabel(suspect: Suspect): string {
  const suspicion = { high: t('high suspicion'), medium: t('medium suspicion'), low: t('low suspicion') };
  return [
    t('Rank {0}', rankWords(suspect).replace('–', ` ${t('to')} `)),
    suspectName(suspect),
    suspectPlace(suspect).replace(/:(\d.*)$/, `, ${t('line')} $1`),
    t('score {0}', scoreWords(suspect.score)),
    suspicion[suspect.band],
    ...(suspect.innocent ? [t('innocent')] : suspect.examined ? [t('examined')] : []),
  ].join(', ');
}

/** Everything about a row, as Markdown. */
export function suspectDetails(suspect: Suspect, technique: string, heat: Heat): string {
  const shown = suspect.failingTests.slice(0, 8).map((test) => `- \`${test}\``);
  const more = suspect.failingTests.length - shown.length;
  return [
    `**${t('Rank {0}', rankWords(suspect))}** · ${technique} ${scoreWords(suspect.score)} ${bar(heat)}`,
    `\`${suspectName(suspect)}\`, ${suspectPlace(suspect)}`,
    t(
      '{0} of {1} failing and {2} of {3} passing tests execute it.',
      suspect.ef,
      suspect.ef + suspect.nf,
      suspect.ep,
      suspect.ep + suspect.np,
    ),
    ...(shown.length
      ? [[t('Failing tests:'), '', ...shown, ...(more > 0 ? [`- ${t('and {0} more', more)}`] : [])].join('\n')]
      : []),
  ].join('\n\n');
}

/** A probability. */
export function percentWords(probability: number): string {
  const percent = probability * 100;
  return `${percent >= 1 || percent === 0 ? Math.round(percent) : percent >= 0.1 ? percent.toFixed(1) : '<0.1'} %`;
}

/** A place, as short as it is clear. */
export function placeWords(place: Pick<Place, 'file' | 'line'>): string {
  return `${place.file}:${place.line}`;
}

/** A place to go to next: what a list shows. */
export function moveWords(move: Move): { label: string; description: string; detail: string } {
  const rank =
    move.rankBest === null || move.rankWorst === null
      ? ''
      : ` · ${t('rank {0}', rankWords({ rankBest: move.rankBest, rankWorst: move.rankWorst }))}`;
  return {
    label: `${percentWords(move.probability)}  ${shortName(move)}`,
    description: `${placeWords(move)}${rank}`,
    detail: [move.reasons.join(', '), move.source].filter(Boolean).join(' · '),
  };
}

/** The title of a list of moves. */
export function jumpTitle(jump: Jump): string {
  return t('Where to look next from {0}', placeWords(jump.origin));
}

/** What a recorded run came to. */
export function runMessage(failed: number, tests: number, suspects: number): string {
  return t('{0} of {1} tests failed. {2} suspects are ranked in the Suspects view.', failed, tests, suspects);
}

/** What was learned from the reader's moves. */
export function learnedWords({ consent, jumps, returns, pJump, low, high }: Learned): string {
  const seen = jumps + returns;
  const chance = t(
    'The chance of a jump is taken as {0} (between {1} and {2}).',
    ...[pJump, low, high].map(percentWords),
  );
  return [
    seen ? t('{0} of your {1} moves were jumps.', jumps, seen) : t('No moves were counted yet.'),
    seen ? chance : '',
    consent ? '' : t('Nothing is counted or used: the setting learnJumps is off.'),
  ]
    .filter(Boolean)
    .join(' ');
}
