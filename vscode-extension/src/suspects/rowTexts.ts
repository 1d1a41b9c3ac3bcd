/** The texts of the rows of suspects, to be read and to be heard. Knows nothing of VS Code. */

import { t } from '../l10n';
import { rankText, scoreText, shortName, suspectName } from '../messages';
import type { Suspect } from '../listed';

/** Suspects that one row stands for, best first: at least one. */
export type RowSuspects = readonly [Suspect, ...Suspect[]];

const MAX_RUNS = 3; // of lines, in a row
const MAX_NAME = 24; // characters: the lines behind a longer name would be cut off
const NAME_BEGIN = 12; // of a name that is too long

/**
 * What the first text of a row names: the member alone, with its class where there are several members of a name, or
 * lines alone where the row above names their function.
 */
export type Naming = 'member' | 'qualified' | 'line';

/** The first text of a row: member and lines, which a view of 180 pixels has room for. */
export function rowTitle(suspects: RowSuspects, naming: Naming): string {
  const [first] = suspects;
  const lines = tiedLines(suspects);
  const name = naming === 'qualified' ? first.function : shortName(first);
  const shown = first.function ? shortened(name) : baseName(first);
  const title = naming === 'line' ? t('line {0}', lines) : `${shown}:${lines}`;
  return examined(suspects) ? struckThrough(title) : title;
}

/** The second text of a row: its file, what is remarkable, and the source of its first suspect. */
export function rowDetail(suspects: RowSuspects, naming: Naming): string {
  const [first] = suspects;
  const states = [...(suspects.every(({ innocent }) => innocent) ? [t('innocent')] : []), ...badges(suspects)];
  const file = naming === 'line' || !first.function ? '' : baseName(first);
  return [file, states.length ? `● ${states.join(' · ')}` : '', first.source].filter(Boolean).join('\u2002');
}

/** A name with as much of its beginning and its end as there is room for; all of it is in the tooltip. */
function shortened(name: string): string {
  const end = MAX_NAME - NAME_BEGIN - 1;
  return name.length > MAX_NAME ? `${name.slice(0, NAME_BEGIN)}…${name.slice(-end)}` : name;
}

function baseName({ file }: Suspect): string {
  return file.replace(/.*\//, '');
}

/** What is remarkable about suspects, in a word or two each. */
export function badges(suspects: RowSuspects): string[] {
  const { repairs, ef, nf } = suspects.reduce((best, one) => (one.repairs > best.repairs ? one : best));
  return [
    ...(suspects.some(({ changed }) => changed) ? [t('changed')] : []),
    ...(suspects.some(({ raised }) => raised) ? [t('raised here')] : []),
    ...(repairs ? [t('repairs {0}/{1}', repairs, ef + nf)] : []),
  ];
}

/**
 * The lines of the suspects of a function that the tests leave equal to the first one.
 *
 * Lines between two of them belong to them, unless there is a suspect of another tie among these.
 */
export function tiedLines(suspects: RowSuspects): string {
  const [first] = suspects;
  const runs: { from: number; to: number }[] = [];
  let continues = false;
  for (const { line, endLine, tie } of suspects.toSorted((a, b) => a.line - b.line)) {
    const last = runs.at(-1);
    if (tie === first.tie && continues && last) {
      last.to = Math.max(last.to, endLine);
    } else if (tie === first.tie) {
      runs.push({ from: line, to: endLine });
    }
    continues = tie === first.tie;
  }
  const few = runs.length <= MAX_RUNS;
  const shown = few ? runs : runs.filter(({ from, to }) => from <= first.line && first.line <= to);
  const texts = shown.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`));
  return [...texts, ...(few ? [] : ['…'])].join(', ');
}

/** Whether nothing is left to look at. */
export function examined(suspects: RowSuspects): boolean {
  return suspects.every((suspect) => suspect.examined);
}

/** Struck through with combining characters, as trees have no other way. Labels for screen readers stay without. */
function struckThrough(text: string): string {
  return text.replace(/./gsu, '$&\u0336');
}

/** A row for a screen reader, with colours and icons as words. */
export function rowLabel(suspects: RowSuspects, whole: boolean): string {
  const suspicion = { high: t('high suspicion'), medium: t('medium suspicion'), low: t('low suspicion') };
  const [suspect] = suspects;
  const lines = tiedLines(suspects);
  return [
    t('Rank {0}', whole ? suspect.functionRank : spokenRange(rankText(suspect))),
    suspectName(suspect),
    suspect.file,
    /^\d+$/.test(lines) ? t('line {0}', lines) : t('lines {0}', spokenRange(lines)),
    t('score {0}', scoreText(suspect.score)),
    suspicion[suspect.suspicion],
    ...suspect.findings.slice(0, 1).map((sentence) => sentence.replace(/\.$/, '')),
    ...badges(suspects),
    suspect.source,
    ...(suspects.every(({ innocent }) => innocent) ? [t('innocent')] : examined(suspects) ? [t('examined')] : []),
  ].join(', ');
}

function spokenRange(numbers: string): string {
  return numbers.replaceAll('–', ` ${t('to')} `);
}
