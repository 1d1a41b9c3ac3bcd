/** Lines that move with edits until the server sends their new positions. Knows nothing of VS Code. */

interface Change {
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
  text: string;
}

/** The line after simultaneous changes. All positions are from before the changes. */
export function moved(line: number, changes: readonly Change[]): number {
  let shift = 0;
  for (const { range, text } of changes) {
    const added = text.split('\n').length - 1;
    const removed = range.end.line - range.start.line;
    if (range.end.line < line || (range.end.line === line && range.end.character === 0 && range.start.line < line)) {
      shift += added - removed;
    } else if (range.start.line < line) {
      shift -= line - range.start.line; // the line is inside the change: it moves to the start
    } else if (
      range.start.line === line &&
      range.start.character === 0 &&
      range.end.line === line &&
      range.end.character === 0
    ) {
      shift += added; // lines were inserted above it
    }
  }
  return line + shift;
}
