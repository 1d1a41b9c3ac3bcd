/** Stands in for `vscode.debug`. */

import type * as api from 'vscode';

import { Emitter } from './events';

/** A breakpoint on a line. */
export class SourceBreakpoint {
  constructor(
    readonly location: api.Location,
    readonly enabled = true,
    readonly condition?: string,
  ) {}
}

/** The debugger, and the breakpoints of the window. */
export class Debug {
  breakpoints: SourceBreakpoint[] = [];
  readonly started: api.DebugConfiguration[] = [];
  /** Whether a session starts. */
  starts = true;
  private readonly changed = new Emitter<unknown>();
  private readonly ended = new Emitter<{ configuration: api.DebugConfiguration }>();
  readonly onDidChangeBreakpoints = this.changed.event;
  readonly onDidTerminateDebugSession = this.ended.event;

  addBreakpoints = (added: SourceBreakpoint[]): void => {
    this.breakpoints = [...this.breakpoints, ...added];
    this.changed.fire(undefined);
  };

  removeBreakpoints = (removed: SourceBreakpoint[]): void => {
    this.breakpoints = this.breakpoints.filter((one) => !removed.includes(one));
  };

  startDebugging = (_folder: unknown, configuration: api.DebugConfiguration): Promise<boolean> => {
    this.started.push(configuration);
    return Promise.resolve(this.starts);
  };

  /** The session that was started as the nth one, from 0, has ended. */
  end(nth: number): void {
    const configuration = this.started[nth];
    if (configuration) {
      this.ended.fire({ configuration });
    }
  }

  reset(): void {
    this.breakpoints = [];
    this.started.length = 0;
    this.starts = true;
  }

  /** The lines with breakpoints, from 0. */
  get lines(): number[] {
    return this.breakpoints.map(({ location }) => location.range.start.line).sort();
  }
}
