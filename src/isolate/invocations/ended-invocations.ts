/**
 * Invocations that are over and have not been reported to the host. Node reports rejected promises behind the turns of a batch, often behind the end of the
 * invocation that has rejected them: their log entries belong to it, so its end is reported behind them.
 */
const REPORT_BYTES = 9;
const MIN_ENTRIES = 16;

export class EndedInvocations {
  #ids: number[] = [];
  /** The reports, one after the other. */
  #reports = Buffer.alloc(REPORT_BYTES * MIN_ENTRIES);

  has(invocation: number): boolean {
    return this.#ids.includes(invocation);
  }

  /** `report`: see SignalKind.Done. It is copied. */
  add(invocation: number, report: Buffer): void {
    const at = this.#ids.length * REPORT_BYTES;
    if (at === this.#reports.length) this.#reports = Buffer.concat([this.#reports, Buffer.alloc(at)]);
    report.copy(this.#reports, at);
    this.#ids.push(invocation);
  }

  /** In the order in which they ended. Reports are valid during the call. */
  drain(report: (invocation: number, report: Buffer) => void): void {
    const ids = this.#ids;
    if (ids.length === 0) return;
    this.#ids = [];
    for (const [index, id] of ids.entries())
      report(id, this.#reports.subarray(index * REPORT_BYTES, (index + 1) * REPORT_BYTES));
  }
}
