/** When a server that crashed is restarted, and when no longer. Knows nothing of VS Code. */

const RESTART_DELAYS_MS = [0, 1000, 3000, 9000];
const WINDOW_MINUTES = 3;

export class Crashes {
  private times: number[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  /** The number of crashes after which the server is restarted. */
  static readonly max = RESTART_DELAYS_MS.length;

  /** Older crashes do not count. */
  static readonly minutes = WINDOW_MINUTES;

  /** Count a crash. Returns the milliseconds to wait before the restart, or nothing after too many crashes. */
  count(): number | undefined {
    const now = this.now();
    this.times = [...this.times.filter((time) => time > now - WINDOW_MINUTES * 60_000), now];
    return RESTART_DELAYS_MS[this.times.length - 1];
  }

  /** Forget all crashes. */
  reset(): void {
    this.times = [];
  }
}
