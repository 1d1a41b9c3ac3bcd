import type { Server } from '../../src/client';
import type { Interpreter } from '../../src/environment/python';
import type { AnswerSoFar, Status } from '../../src/protocol';
import type { Condition } from '../../src/messages';
import { Emitter, workbench } from './workbench';

export const status: Status = {
  state: 'ready',
  message: '',
  technique: 'ochiai',
  title: 'Ochiai',
  suspects: 1,
  failed: 1,
  passed: 4,
  compiled: false,
  onlyRead: false,
  collectionErrors: 0,
  progress: null,
  investigation: null,
};

/** A server that answers what a test wants, when it wants. The real one is in client.test.ts. */
export class ScriptedServer {
  readonly calls: unknown[][] = [];
  /** Answers by method or command: a value, or what makes one. */
  readonly answers: Record<string, unknown> = {};
  readonly changed = new Emitter<Condition>();
  readonly onDidChange = this.changed.event;
  readonly executed = new Emitter<{ command: string; result: unknown }>();
  readonly onDidExecute = this.executed.event;
  readonly found = new Emitter<AnswerSoFar>();
  readonly onDidFindOut = this.found.event;
  readonly output = workbench.output;
  program: Interpreter | undefined;
  restarts = 0;
  cancelled = 0;

  /** For what takes a server. */
  get server(): Server {
    return this as unknown as Server;
  }

  request(method: string, params: unknown): Promise<unknown> {
    return this.answer(method, params);
  }

  command(command: string, ...args: unknown[]): Promise<unknown> {
    return this.answer(command, ...args);
  }

  /** Set by what shows changes. */
  confirm: Server['confirm'] = () => Promise.resolve(false);

  /** An edit, which in tests is one of VS Code's already. */
  edit<Edit>(sent: Edit): Promise<Edit> {
    return Promise.resolve(sent);
  }

  restart(): void {
    this.restarts += 1;
  }

  cancelInstallation(): void {
    this.cancelled += 1;
  }

  private async answer(name: string, ...args: unknown[]): Promise<unknown> {
    this.calls.push([name, ...args]);
    const answer = this.answers[name];
    return typeof answer === 'function' ? await (answer as (...args: unknown[]) => unknown)(...args) : answer;
  }
}
