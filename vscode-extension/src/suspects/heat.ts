/** How hot suspects are, on a scale of five that bars, gutter marks and colours share. */

export const HEATS = [1, 2, 3, 4, 5] as const;
export type Heat = (typeof HEATS)[number];

/**
 * The heat of each score, relative to the highest. Techniques have no common scale, and some give infinite or negative
 * scores: infinity (sent as the largest double) is hottest alone, and the rest share the other four.
 */
export function heats(scores: readonly number[]): Heat[] {
  const finite = scores.filter((score) => Math.abs(score) < Number.MAX_VALUE);
  const highest = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const lowest = finite.reduce((a, b) => Math.min(a, b), 0);
  const hottest = scores.includes(Number.MAX_VALUE) ? 4 : 5;
  return scores.map((score) => {
    if (Math.abs(score) === Number.MAX_VALUE) {
      return score > 0 ? 5 : 1;
    }
    const share = highest > lowest ? (score - lowest) / (highest - lowest) : 0;
    return Math.min(Math.max(Math.ceil(share * hottest - 1e-9), 1), hottest) as Heat;
  });
}

/** A bar as text. */
export function bar(heat: Heat): string {
  return '▰'.repeat(heat) + '▱'.repeat(5 - heat);
}

/** The colours of marks; the colours in the manifest have the same hues. */
export const GUTTER = {
  dark: { 1: '#8a8a8a', 2: '#c7a76c', 3: '#e2a03f', 4: '#f08a3c', 5: '#ff6b5e' },
  light: { 1: '#767676', 2: '#8a6d2f', 3: '#a35c00', 4: '#b84300', 5: '#c4162a' },
} as const satisfies Record<string, Record<Heat, string>>;

/** The mark of a suspect in the gutter and in the view. The number of bars shows the heat without colours. */
export function mark(heat: Heat, theme: keyof typeof GUTTER): string {
  const bars = HEATS.map((step) => {
    const height = 3 + step * 2;
    const opacity = step <= heat ? '' : ' opacity=".25"';
    return `<rect x="${step * 3 - 2}" y="${15 - height}" width="2" height="${height}"${opacity}/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="${GUTTER[theme][heat]}">${bars.join('')}</svg>`;
}
