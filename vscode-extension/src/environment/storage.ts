/**
 * Where the extension keeps what it makes, noted in its own folder: VS Code tells it to nobody who uninstalls it.
 * Knows nothing of VS Code.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';

/** How folders of environments begin, those of complete ones and of others. */
export const PREFIX = 'server-';
export const UNFINISHED_PREFIX = 'unfinished-';

const NOTE = 'storage.txt';

/** Note the folder of the private environments. Where the extension's folder can't be written, they stay. */
export function rememberStorage(extension: string, storage: string): void {
  try {
    writeFileSync(path.join(extension, NOTE), storage);
  } catch {
    // an administrator installed the extension for all users
  }
}

/** Remove the private environments that an extension made. */
export function removeEnvironments(extension: string): void {
  let storage: string;
  try {
    storage = readFileSync(path.join(extension, NOTE), 'utf8');
  } catch {
    return; // it has made none
  }
  for (const name of readdirSync(storage)) {
    if (name.startsWith(PREFIX) || name.startsWith(UNFINISHED_PREFIX)) {
      rmSync(path.join(storage, name), { recursive: true, force: true, maxRetries: 3 });
    }
  }
}
