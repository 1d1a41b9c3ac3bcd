/** The suspects of the view, filtered and in groups. Knows nothing of VS Code. */

import { t } from '../l10n';
import type { Suspect } from '../listed';
import type { Suspects } from '../protocol';

/** The default first: a row for each function. */
export const GROUPINGS = ['function', 'file', 'test', 'none'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface Group {
  /** Unique among the groups. */
  key: string;
  label: string;
  description: string;
  /** The name of the test, if the group is one of its suspects. */
  test?: string;
  suspects: Suspect[];
}

/**
 * Why no suspect is listed, if none is.
 *
 * Only a ranking can say that there are no suspects. Before the first one, an empty list means nothing.
 */
export function emptiness(report: Suspects | undefined, shown: number, examined: boolean): string {
  if (shown) {
    return '';
  }
  if (report?.suspects.length) {
    return examined ? 'allExamined' : 'noMatch';
  }
  if (report?.state === 'stale' && report.failed) {
    return 'outdated';
  }
  return report && ['ready', 'stale'].includes(report.state) ? 'noSuspects' : 'unknown';
}

/** The suspects of each function, that of the best one first. */
export function byFunction(suspects: readonly Suspect[]): [Suspect, ...Suspect[]][] {
  const functions = new Map<string, [Suspect, ...Suspect[]]>();
  for (const suspect of suspects) {
    const key = `${suspect.uri} ${suspect.function}`;
    const same = functions.get(key);
    if (same) {
      same.push(suspect);
    } else {
      functions.set(key, [suspect]);
    }
  }
  return [...functions.values()];
}

/** The suspects in groups, the group of the best one first; a suspect is in the group of each failing test. */
export function grouped(suspects: readonly Suspect[], grouping: 'file' | 'test'): Group[] {
  const groups = new Map<string, Group>();
  for (const suspect of suspects) {
    for (const one of groupsOf(suspect, grouping)) {
      let group = groups.get(one.key);
      if (!group) {
        group = { ...one, suspects: [] };
        groups.set(one.key, group);
      }
      group.suspects.push(suspect);
    }
  }
  return [...groups.values()];
}

function groupsOf(suspect: Suspect, grouping: 'file' | 'test'): Omit<Group, 'suspects'>[] {
  const [folder, name] = /^(?:(.*)\/)?([^/]*)$/.exec(suspect.file)?.slice(1) ?? [];
  switch (grouping) {
    case 'file':
      return [{ key: suspect.uri, label: name ?? suspect.file, description: folder ?? '' }];
    case 'test':
      return suspect.failingTests.map((test) => ({
        key: [suspect.folder, test].filter(Boolean).join(' '),
        test,
        label: test.replace(/^.*?::/, ''),
        description: [suspect.folder, ...(test.includes('::') ? [test.replace(/::.*$/, '')] : [])]
          .filter(Boolean)
          .join('/'),
      }));
  }
}

/** The suspects with every word of the filter in their file, function or failing tests; case does not matter. */
export function filtered(suspects: readonly Suspect[], filter: string): Suspect[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return suspects.filter((suspect) => {
    const text = [suspect.file, suspect.function, ...suspect.failingTests].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The name of a grouping, to be read after “grouped”. */
export function groupingText(grouping: Grouping): string {
  return { function: '', file: t('by file'), test: t('by failing test'), none: t('line by line') }[grouping];
}
