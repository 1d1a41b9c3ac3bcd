/** When a server that crashed is started again, and when no more. Knows nothing of VS Code. */

const DELAYS = [0, 1000, 3000, 9000];
const MINUTES = 3;

export class Crashes {
  private times: number[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  /** How many are forgiven. */
  static readonly most = DELAYS.length;

  /** In how many minutes. */
  static readonly minutes = MINUTES;

  /** Count one. Milliseconds to wait before the next start; none when there have been too many. */
  count(): number | undefined {
    const now = this.now();
    this.times = [...this.times.filter((time) => time > now - MINUTES * 60_000), now];
    return DELAYS[this.times.length - 1];
  }

  /** Someone has seen to it. */
  forget(): void {
    this.times = [];
  }
}
