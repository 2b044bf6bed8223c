/** Messages between the host and a process of the engine: a head as JSON, and bytes behind it. `u32 length | u32 length of the head | head | bytes`. */

export type JobKind = 'query' | 'exec' | 'dump' | 'copy' | 'import' | 'check' | 'verify' | 'migrate' | 'migrations';

/** One job of a group. Its payload follows the payloads of the jobs before. */
export interface JobHead {
  readonly kind: JobKind;
  /** The size of its payload: the statements, or the path of a file. */
  readonly bytes: number;
  /** The number of statements that was counted; more are refused. */
  readonly statements: number;
  /** It may use reserved tables. */
  readonly isInternal?: true;
}

export interface GroupHead {
  readonly path: string;
  readonly mode: 'read' | 'write';
  /** The most that the database may have. */
  readonly maxBytes: number;
  readonly jobs: readonly JobHead[];
}

/** A database that may not stay open; what it has not committed is gone. There is no answer. */
export interface CloseHead {
  readonly close: string;
}

/**
 * How a job ended. `full`: the database needs more room. `writer`: it changes the database. `alone`: it is to be repeated by itself. `later`: it was not run,
 * because those before it took long.
 */
export type JobOutcome = 'done' | 'full' | 'writer' | 'alone' | 'later';

export interface JobReply {
  /** The index of the job. */
  readonly job: number;
  readonly outcome: JobOutcome;
  /** Processor time, in microseconds. */
  readonly cpuUs: number;
  /** The size of its answer. The answers follow one another in the order of the replies. */
  readonly bytes: number;
  /** SQLite has refused a statement, or failed. */
  readonly isFailure?: true;
}

/** Jobs of a group that have ended together. */
export interface ReplyHead {
  readonly replies: readonly JobReply[];
  /** The process keeps much memory: it is to have no other request. */
  readonly isWorn?: true;
}

/** The first message of a process: it has started. */
export const READY = { ready: true } as const;

export function isReady(head: unknown): boolean {
  return typeof head === 'object' && head !== null && 'ready' in head;
}

const LENGTHS = 8;
const WHOLE_BYTES = 64 * 1024;
/** The largest message that is in order: a result, or a call, and its head. */
export const MAX_FRAME_BYTES = 80 * 1024 * 1024;

/** One buffer where that is small, so that it takes one write. */
export function frame(head: object, payload: readonly Uint8Array[]): Uint8Array[] {
  const text = Buffer.from(JSON.stringify(head));
  let total = text.length;
  for (const part of payload) total += part.length;
  const isWhole = total <= WHOLE_BYTES;
  const first = Buffer.allocUnsafe(LENGTHS + (isWhole ? total : text.length));
  first.writeUInt32LE(total, 0);
  first.writeUInt32LE(text.length, 4);
  first.set(text, LENGTHS);
  if (!isWhole) return [first, ...payload];
  let at = LENGTHS + text.length;
  for (const part of payload) {
    first.set(part, at);
    at += part.length;
  }
  return [first];
}

/** Puts messages together again. */
export class JobFrameReader {
  readonly #onFrame: (head: unknown, payload: Buffer) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = LENGTHS;

  constructor(onFrame: (head: unknown, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** @throws Error for a message that is too long, or whose head is no JSON */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#needed) {
      const all =
        this.#chunks.length === 1 && this.#chunks[0] !== undefined ? this.#chunks[0] : Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const total = all.readUInt32LE(0);
      const headLength = all.readUInt32LE(4);
      if (total > MAX_FRAME_BYTES || headLength > total)
        throw new Error(`A message has ${total} bytes, its head ${headLength}`);
      this.#needed = LENGTHS + total;
      if (this.#bytes < this.#needed) return;
      const head: unknown = JSON.parse(all.toString('utf8', LENGTHS, LENGTHS + headLength));
      const payload = all.subarray(LENGTHS + headLength, this.#needed);
      const rest = all.subarray(this.#needed);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      this.#needed = LENGTHS;
      this.#onFrame(head, payload);
    }
  }
}
