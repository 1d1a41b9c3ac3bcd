/** Rows and words about failure groups. Knows nothing of VS Code. */

import { t } from '../l10n';
import { plainMarkdown } from '../messages';
import type { FailureGroup } from '../listed';

/** What tells a group from all others, also from those of other folders. */
export function groupKey({ folder, id }: Pick<FailureGroup, 'folder' | 'id'>): string {
  return `${folder} ${id}`;
}

/** The heading without its sign: the row has an icon for it. */
export function groupLabel({ heading }: FailureGroup): string {
  return heading.replace(/^✗ /, '');
}

/** A row for a screen reader. */
export function groupSpoken({ id, folderName, names, failure, current }: FailureGroup): string {
  const what = id === null ? t('Failure') : t('Failure group');
  const state = id !== null && current ? t('current') : '';
  return [what, folderName, names, failure, state].filter(Boolean).join(', ');
}

/** All about a group, as Markdown. */
export function groupDetails(group: FailureGroup, reason: string): string {
  const shown = group.tests.slice(0, 12);
  const more = group.tests.length - shown.length;
  const uncovered = new Set(group.uncovered);
  return [
    `**${groupLabel(group)}**`,
    ...(group.failure ? [plainMarkdown(group.failure)] : []),
    ...(reason ? [reason] : []),
    [
      ...shown.map((test) => `- \`${test}\`${uncovered.has(test) ? ` (${t('executes no suspect')})` : ''}`),
      ...(more > 0 ? [`- ${t('and {0} more', more)}`] : []),
    ].join('\n'),
  ].join('\n\n');
}
