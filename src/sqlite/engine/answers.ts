/** Gathers the answers of the process for the host. */
import process from 'node:process';
import { frame, type JobReply, type ReplyHead } from './frames.js';
import type { JobResult } from './run-jobs.js';
import { write } from './serving.js';

/** Answers that have this many bytes do not wait for more. */
const FLUSH_BYTES = 32 * 1024;

/** The answers of a group that wait for being sent. */
export class Answers {
  #waiting: { readonly job: number; readonly result: JobResult; readonly ms: number; readonly bytes: Buffer }[] = [];
  #bytes = 0;
  #ms = 0;
  #usage = process.cpuUsage();

  get count(): number {
    return this.#waiting.length;
  }

  /** @param ms what it took, by which the processor time of all is shared out */
  add(job: number, result: JobResult, ms: number): void {
    const bytes = Buffer.from(result.text);
    this.#waiting.push({ job, result, ms, bytes });
    this.#bytes += bytes.length;
    this.#ms += ms;
    if (this.#bytes > FLUSH_BYTES) this.flush(false);
  }

  flush(worn: boolean): void {
    if (this.#waiting.length === 0) return;
    const { user, system } = process.cpuUsage(this.#usage);
    const perMs = this.#ms > 0 ? (user + system) / this.#ms : 0;
    const replies = this.#waiting.map(({ job, result: { outcome, isFailure }, ms, bytes }) => {
      const reply: JobReply = { job, outcome, cpuUs: Math.ceil(ms * perMs), bytes: bytes.length };
      return isFailure ? { ...reply, isFailure } : reply;
    });
    const head: ReplyHead = { replies, ...(worn && { isWorn: true }) };
    const payload = this.#waiting.map(({ bytes }) => bytes);
    this.#waiting = [];
    this.#bytes = 0;
    this.#ms = 0;
    write(frame(head, payload));
    this.#usage = process.cpuUsage();
  }
}
