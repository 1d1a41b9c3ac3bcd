/** Rows and words about failure groups. Knows nothing of VS Code. */

import { t } from './l10n';
import type { FailureGroup } from './protocol';

/** What tells a group from all others, also from those of other folders. */
export function groupKey({ folder, id }: Pick<FailureGroup, 'folder' | 'id'>): string {
  return `${folder} ${id}`;
}

/** The heading without its sign: the row has an icon for it. */
export function groupLabel({ heading }: FailureGroup): string {
  return heading.replace(/^✗ /, '');
}

/** All about a group, as Markdown. */
export function groupDetails(group: FailureGroup, reason: string): string {
  const shown = group.tests.slice(0, 12);
  const more = group.tests.length - shown.length;
  const uncovered = new Set(group.uncovered);
  return [
    `**${groupLabel(group)}**`,
    ...(reason ? [reason] : []),
    [
      ...shown.map((test) => `- \`${test}\`${uncovered.has(test) ? ` (${t('executes no suspect')})` : ''}`),
      ...(more > 0 ? [`- ${t('and {0} more', more)}`] : []),
    ].join('\n'),
  ].join('\n\n');
}
