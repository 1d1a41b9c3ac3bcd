/** Cards of the Suspects view for failed runs: the reason, and what to do. Knows nothing of VS Code. */

import { t } from '../l10n';
import type { CollectionErrorMessage, Suspects } from '../protocol';

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
  /** The module that files of tests need and that is not there. */
  missing?: string | undefined;
  /** What is to be installed, as pip names it. */
  package?: string | undefined;
}

const MAX_CARDS = 20;

/** One card for each error that stopped a test run, or the ranking of its evidence. */
export function cards(report: Suspects | undefined): Card[] {
  if (!report) {
    return [];
  }
  const causes = new Map<string, CollectionErrorMessage[]>();
  for (const error of report.collectionErrors) {
    const cause = [error.folder, whatOf(error)].join(' ');
    causes.set(cause, [...(causes.get(cause) ?? []), error]);
  }
  const errors = [...causes.values()].map((several) => cardOf(several as [CollectionErrorMessage]));
  const runs = report.failedRuns.map(({ folder, message }): Card => ({
    key: `run ${folder}`,
    label: t('The tests could not be run'),
    description: message,
    tooltip: message,
    folder,
    location: undefined,
  }));
  // what was recorded can't be ranked because the run failed
  const unranked = report.state === 'error' && !errors.length && !runs.length ? report.problems : [];
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

/** One card for one cause, however many files it keeps from being collected. */
function cardOf([first, ...others]: [CollectionErrorMessage, ...CollectionErrorMessage[]]): Card {
  const { collector, folder, uri, range, file, line, missing, missingPackage, environment } = first;
  const what = whatOf(first);
  const where = file ? `${file}:${line}` : '';
  const collectors = [first, ...others].map((error) => error.collector).filter(Boolean);
  const whose = collectors.length
    ? t('{0} could not be collected', collectors.join(', '))
    : t('The tests could not be run');
  const count = others.length + 1;
  const needs = missing && (count === 1 ? t('1 file needs `{0}`', missing) : t('{0} files need `{1}`', count, missing));
  const absent =
    missingPackage &&
    (environment
      ? t('{0} is not installed in {1}', missingPackage, environment)
      : t('{0} is not installed', missingPackage));
  const installed = !missing && absent;
  return {
    key: `error ${folder} ${collector} ${where} ${what}`,
    label: needs || installed || what || whose,
    description: needs || installed ? '' : count > 1 ? t('{0} files', count) : where || collector,
    tooltip: [whose, what, where].filter(Boolean).join('\n'),
    folder,
    location: uri
      ? { uri, line: range?.start.line ?? Math.max(line - 1, 0), character: range?.start.character ?? 0 }
      : undefined,
    missing: missing || undefined,
    package: missingPackage || undefined,
  };
}

function whatOf({ exception, message }: CollectionErrorMessage): string {
  return [exception, message].filter(Boolean).join(': ');
}
