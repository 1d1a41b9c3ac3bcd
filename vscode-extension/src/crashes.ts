/** When a server that crashed is restarted, and when not any more. Knows nothing of VS Code. */

const RESTART_DELAYS_MS = [0, 1000, 3000, 9000];
const WINDOW_MINUTES = 3;

export class Crashes {
  private times: number[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  /** So many crashes are followed by a restart. */
  static readonly max = RESTART_DELAYS_MS.length;

  /** Crashes longer ago than this do not count. */
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
