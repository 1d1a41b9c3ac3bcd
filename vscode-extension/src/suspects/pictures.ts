/** The marks of suspects as pictures for the editor. */

import * as vscode from 'vscode';

import { type GUTTER, type Heat, mark } from './heat';

/** The mark of a heat, as a data URI. */
export function picture(heat: Heat, theme: keyof typeof GUTTER): vscode.Uri {
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(mark(heat, theme)).toString('base64')}`);
}
