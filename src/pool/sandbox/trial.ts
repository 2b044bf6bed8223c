/** The first processes behind a sandbox that was presumed and not tried out: each of them either is up, or ends before. */
export class Trial {
  #outcome: 'open' | 'passed' | 'failed' = 'open';

  get hasFailed(): boolean {
    return this.#outcome === 'failed';
  }

  /** A process is up. */
  pass(): void {
    if (this.#outcome === 'open') this.#outcome = 'passed';
  }

  /** A process has ended before it was up. Once another one has passed, that is no fault of the sandbox. */
  fail(): void {
    if (this.#outcome === 'open') this.#outcome = 'failed';
  }
}
