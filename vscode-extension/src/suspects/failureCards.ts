/** Cards of the Suspects view for failed runs: the reason, and what to do. Knows nothing of VS Code. */

import { t } from '../l10n';
import type { Suspects } from '../protocol';

export interface Card {
  /** Unique among the cards. */
  key: string;
  label: string;
  description: string;
  /** The full text. */
  tooltip: string;
  /** The workspace folder whose tests were run, if it is known. */
  folder: string | undefined;
  /** Where the error is, the line counted from 0. */
  location: { uri: string; line: number; character: number } | undefined;
}

const MAX_CARDS = 20;

/** One card for each error that stopped a test run, or the ranking of its evidence. */
export function cards(report: Suspects | undefined): Card[] {
  if (!report) {
    return [];
  }
  const errors = report.collectionErrors.map(
    ({ collector, exception, message, folder, uri, range, file, line }): Card => {
      const what = [exception, message].filter(Boolean).join(': ');
      const where = file ? `${file}:${line}` : '';
      const whose = collector ? t('{0} could not be collected', collector) : t('The tests could not be run');
      return {
        key: `error ${folder} ${collector} ${where} ${what}`,
        label: what || whose,
        description: where || collector,
        tooltip: [whose, what, where].filter(Boolean).join('\n'),
        folder,
        location: uri
          ? { uri, line: range?.start.line ?? Math.max(line - 1, 0), character: range?.start.character ?? 0 }
          : undefined,
      };
    },
  );
  const runs = report.failedRuns.map(({ folder, message }): Card => ({
    key: `run ${folder}`,
    label: t('The tests could not be run'),
    description: message,
    tooltip: message,
    folder,
    location: undefined,
  }));
  const unranked = report.state === 'error' && !errors.length ? report.problems : [];
  const problems = unranked.map(({ file, place, cause, cure }): Card => {
    const where = [file, place].filter(Boolean).join(', ');
    const all = cure ? t('{0}. Fix: {1}', cause, cure) : cause;
    return {
      key: `problem ${where} ${cause}`,
      label: cause,
      description: where,
      tooltip: [where, all].filter(Boolean).join('\n'),
      folder: undefined,
      location: undefined,
    };
  });
  return [...errors, ...runs, ...problems]
    .filter(({ key }, at, all) => all.findIndex((other) => other.key === key) === at)
    .slice(0, MAX_CARDS);
}
