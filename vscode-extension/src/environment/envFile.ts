/** Our variables in a file of environment variables, such as `.env`, between two lines that say whose they are. */

const BEGIN = '# Suspectra: what follows records the tests that run in this folder';
const END = '# Suspectra: end';
const BLOCK = new RegExp(`(?:^|\\n)${BEGIN}\\r?\\n[^]*?\\n${END}(?:\\r?\\n|$)`);

/** Whether a text has our variables. */
export const isRecording = (text: string): boolean => BLOCK.test(text);

/** The text without our variables. */
export function withoutVariables(text: string): string {
  return text.replace(BLOCK, (_, at: number) => (at ? '\n' : ''));
}

/** The text with our variables at its end, and no older ones. What it says of `PYTHONPATH` stays in force. */
export function withVariables(text: string, variables: Record<string, string>, delimiter: string): string {
  const before = withoutVariables(text);
  const rest = /^\s*PYTHONPATH\s*=/m.test(before) ? `${delimiter}\${PYTHONPATH}` : '';
  const lines = Object.entries(variables).map(
    ([name, value]) => `${name}=${value}${name === 'PYTHONPATH' ? rest : ''}`,
  );
  const gap = before && !before.endsWith('\n') ? '\n' : '';
  return `${before}${gap}${[BEGIN, ...lines, END].join('\n')}\n`;
}
