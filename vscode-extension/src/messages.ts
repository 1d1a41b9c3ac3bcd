/** Texts that users read, about statuses and suspects. Knows nothing of VS Code. */

import { bar, type Heat } from './suspects/heat';
import { t } from './l10n';
import type { Suspect } from './listed';
import type {
  InvestigationMessage,
  Jump,
  Learned,
  MoveMessage,
  PlannedPlace,
  CodeLocation,
  Progress,
  Status,
  Suspects,
} from './protocol';

/** The server's states, and those that the extension adds while no server runs. */
export type Condition =
  | Status
  | { state: 'starting' }
  | { state: 'noFolder' }
  | { state: 'installing'; message: string }
  | { state: 'noServer'; problem: string; cure: string };

export interface StatusText {
  /** With VS Code's `$(icon)` marks. */
  text: string;
  tooltip: string;
  /** For a screen reader. */
  label: string;
  warning: boolean;
}

/** The text of the status item, given the place of the first suspect. */
export function statusText(condition: Condition, first = ''): StatusText {
  const status = (icon: string, text: string, tooltip: string, warning = false): StatusText => ({
    text: `$(${icon}) ${text}`,
    tooltip,
    label: `Suspectra: ${text}`,
    warning,
  });
  switch (condition.state) {
    case 'starting':
      return status('loading~spin', 'Suspectra', t('Starting the server'));
    case 'noFolder':
      return status('search', 'Suspectra', t('Open a folder to rank what its tests execute'));
    case 'installing':
      return status('loading~spin', t('Installing'), t('{0}. Click to see the progress', condition.message));
    case 'noServer':
      return status('warning', 'Suspectra', t('{0}. Fix: {1}', condition.problem, condition.cure), true);
    case 'noEvidence':
      return status('search', t('No test run'), condition.message || t('There is no recorded test run yet'));
    case 'ranking':
      return status('loading~spin', t('Ranking'), condition.message || t('Ranking the suspects'));
    case 'runningTests':
      if (condition.progress?.onSave) {
        const label = t('{0}, since the save', progressText(condition.progress));
        return {
          ...status('sync~spin', saveText(condition.progress), condition.message),
          label: `Suspectra: ${label}`,
        };
      }
      return status('loading~spin', progressText(condition.progress), condition.message || t('Recording a test run'));
    case 'noFailingTests':
      return status('pass', t('No failing test'), condition.message || t('No test failed in the last run'));
    case 'error':
      return status('warning', 'Suspectra', condition.message, true);
    case 'ready':
      return condition.investigation
        ? status('loading~spin', againText(condition.investigation), condition.investigation.test || runText(condition))
        : status('error', [failingText(condition.failed), first].filter(Boolean).join(' · '), runText(condition));
    case 'stale':
      return status(
        'history',
        condition.suspects ? failingText(condition.failed) : t('Sources changed'), // the suspected lines did, too
        condition.message || t('{0}. The sources have changed since', runText(condition)),
      );
  }
}

/** How far a run of the tests is. */
export function progressText(progress: Progress | null): string {
  if (!progress?.done) {
    return t('Running tests');
  }
  const { done, total, failed } = progress;
  const counted = total ? t('{0} of {1} tests', done, total) : done === 1 ? t('1 test') : t('{0} tests', done);
  return failed ? t('{0}, {1} failed', counted, failed) : counted;
}

/** The same, as short as possible, for a run that a save started: it would flicker otherwise. */
function saveText({ done, total, failed }: Progress): string {
  const counted = total ? `${done}/${total}` : `${done}`;
  return failed ? t('{0} · {1} ✗ this save', counted, failed) : t('{0} this save', counted);
}

function againText({ runs }: InvestigationMessage): string {
  return runs ? t('Running tests again · {0}', runs) : t('Running tests again');
}

/** How many suspects were found to make failing tests pass. */
export function foundText(found: number): string {
  return found === 1
    ? t('Altering 1 line makes failing tests pass')
    : t('Altering any of {0} lines makes failing tests pass', found);
}

function failingText(failed: number): string {
  return t('{0} failing', failed);
}

/** Where a suspect is, in a word. */
export function placeOf(suspect: Suspect): string {
  return `${suspect.function ? shortName(suspect) : suspect.file.replace(/.*\//, '')}:${suspect.line}`;
}

function runText({ title, failed, passed }: Status): string {
  return failed === 1
    ? t('{0} over 1 failing test and {1} passing', title, passed)
    : t('{0} over {1} failing tests and {2} passing', title, failed, passed);
}

/** The line above the suspects: what ranked them. */
export function reportText(report: Suspects): string {
  const missing = report.without.join(', ');
  const technique = report.cloneFailed
    ? t('{0} with cloning', report.title)
    : missing
      ? t('{0} without {1}', report.title, missing)
      : report.title;
  const { failed, passed } = report;
  const groups = report.groups.filter(({ id }) => id !== null);
  if (!groups.length) {
    return t('{0} · {1} failed, {2} passed', technique, failed, passed);
  }
  return groups.every(({ sure }) => sure)
    ? t('{0} · {1} failed in {2} groups, {3} passed', technique, failed, groups.length, passed)
    : t('{0} · {1} failed in perhaps {2} groups, {3} passed', technique, failed, groups.length, passed);
}

/** The rank; for a tie, its first and its last rank. */
export function rankText(suspect: Pick<Suspect, 'rankBest' | 'rankWorst'>): string {
  const { rankBest, rankWorst } = suspect;
  return rankBest === rankWorst ? `${rankBest}` : `${rankBest}–${rankWorst}`;
}

/** Scores have no common scale: three significant digits serve all of them. */
export function scoreText(score: number): string {
  if (Math.abs(score) === Number.MAX_VALUE) {
    return score > 0 ? '∞' : '-∞';
  }
  return Number.isInteger(score) ? `${score}` : `${Number(score.toPrecision(3))}`;
}

/** The qualified name of the function of a suspect. */
export function suspectName(suspect: Pick<Suspect, 'function'>): string {
  return suspect.function || t('(module level)');
}

/** The name of a function in a list in which each place is named. It leaves out the class. */
export function shortName(suspect: Pick<Suspect, 'function'>): string {
  return suspectName(suspect).replace(/.*\./, '');
}

/** The file and lines of a suspect. */
export function suspectLocation(suspect: Suspect): string {
  const lines = suspect.endLine > suspect.line ? `${suspect.line}-${suspect.endLine}` : `${suspect.line}`;
  return `${suspect.file}:${lines}`;
}

/** The reason for the score, in a few words. */
export function reasonText({ ef, ep, nf, np }: Suspect): string {
  return t('{0} of {1} failing, {2} of {3} passing', ef, ef + nf, ep, ep + np);
}

/** The function of a test, without its file, class and parameters. */
export function testName(test: string): string {
  return test.replace(/\[.*$/s, '').replace(/^.*::/s, '');
}

/** The first of some tests, and how many more there are. */
export function testNames([first = '', ...others]: readonly string[]): string {
  return others.length ? t('{0} and {1} more', testName(first), others.length) : testName(first);
}

/** Why a line is suspected, and because of which tests, at its end. */
export function cursorText(suspect: Suspect): string {
  return [reasonText(suspect), testNames(suspect.failingTests)].filter(Boolean).join(' · ');
}

/** That failing tests passed before it changed, or that git knows of a change. */
function changedText({ changed, changedByGit, ef, nf }: Suspect): string {
  if (changed === changedByGit) {
    return t('Changed, according to git.');
  }
  return changed - changedByGit >= ef
    ? t('You changed this.')
    : t('You changed this since {0} of {1} failing tests passed.', changed - changedByGit, ef + nf);
}

/** All about a suspect, as Markdown. */
export function suspectDetails(suspect: Suspect, technique: string, heat: Heat, rank = rankText(suspect)): string {
  const shown = suspect.failingTests.slice(0, 8).map((test) => `- \`${test}\``);
  const more = suspect.failingTests.length - shown.length;
  return [
    `**${t('Rank {0}', rank)}** · ${technique} ${scoreText(suspect.score)} ${bar(heat)}`,
    `\`${suspectName(suspect)}\`, ${suspectLocation(suspect)}`,
    ...suspect.findings.map(plainMarkdown),
    ...(suspect.reason && !suspect.findings.includes(suspect.reason) ? [plainMarkdown(suspect.reason)] : []),
    ...(suspect.changed ? [changedText(suspect)] : []),
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

/** Text that Markdown shows as it is: names of tests may contain anything. */
export function plainMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()<>#+\-!|~&$]/g, '\\$&');
}

/** A probability. */
export function percentText(probability: number): string {
  const percent = probability * 100;
  return `${percent >= 1 || percent === 0 ? Math.round(percent) : percent >= 0.1 ? percent.toFixed(1) : '<0.1'} %`;
}

/** A location as `file:line`. */
export function locationText(location: Pick<CodeLocation, 'file' | 'line'>): string {
  return `${location.file}:${location.line}`;
}

/** A next location as an item of a list. */
export function moveText(move: MoveMessage): { label: string; description: string; detail: string } {
  return placeText(move, percentText(move.probability));
}

/** A place of the reading plan as an item of a list. */
export function plannedText(
  place: PlannedPlace,
  index: number,
): { label: string; description: string; detail: string } {
  return placeText(place, `${index + 1}.`);
}

function placeText(
  place: MoveMessage | PlannedPlace,
  before: string,
): { label: string; description: string; detail: string } {
  const rank =
    place.rankBest === null || place.rankWorst === null
      ? ''
      : ` · ${t('rank {0}', rankText({ rankBest: place.rankBest, rankWorst: place.rankWorst }))}`;
  return {
    label: `${before}  ${shortName(place)}`,
    description: `${locationText(place)}${rank}`,
    detail: [place.reasons.join(', '), place.source].filter(Boolean).join(' · '),
  };
}

/** The title of a list of moves. */
export function jumpTitle(jump: Jump): string {
  return jump.origin ? t('Where to look next from {0}', locationText(jump.origin)) : t('Where to look next');
}

/** The result of a recorded run. */
export function runMessage(failed: number, tests: number, suspects: number): string {
  const failures = tests === 1 ? t('The test failed.') : t('{0} of {1} tests failed.', failed, tests);
  const ranked =
    suspects === 1
      ? t('1 suspect is ranked in the Suspects view.')
      : t('{0} suspects are ranked in the Suspects view.', suspects);
  return `${failures} ${ranked}`;
}

/** What was learned from the reader's moves. */
export function learnedText({ consent, jumps, returns, pJump, low, high }: Learned): string {
  const seen = jumps + returns;
  const chance = t(
    'The chance of a jump is taken as {0} (between {1} and {2}).',
    ...[pJump, low, high].map(percentText),
  );
  return [
    seen ? t('{0} of your {1} moves were jumps.', jumps, seen) : t('No moves were counted yet.'),
    seen ? chance : '',
    consent ? '' : t('Nothing is counted or used: the setting learnJumps is off.'),
  ]
    .filter(Boolean)
    .join(' ');
}
