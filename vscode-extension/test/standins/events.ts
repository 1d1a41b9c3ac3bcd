/** What all stand-ins for parts of `vscode` use: its plain values, and events. */

import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';
import type * as api from 'vscode';

/** Values without state: VS Code's own code, as jest-mock-vscode has it. */
export const values = createVSCodeMock(vi);

/** An event whose listeners can be counted. */
export class Emitter<Event> {
  readonly listeners = new Set<(event: Event) => unknown>();

  readonly event = (listener: (event: Event) => unknown, self?: unknown, disposables?: api.Disposable[]) => {
    const bound = (event: Event) => listener.call(self, event);
    this.listeners.add(bound);
    const disposable = new values.Disposable(() => this.listeners.delete(bound));
    disposables?.push(disposable);
    return disposable;
  };

  fire(event: Event): void {
    for (const listener of [...this.listeners]) {
      listener(event);
    }
  }

  dispose(): void {
    this.listeners.clear();
  }
}
