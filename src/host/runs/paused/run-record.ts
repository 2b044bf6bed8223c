/**
 * Records the calls of a run, so that it can be paused, and answers them from the ledger when its code runs again. An answer is given at its place between
 * the calls: only when the code has made all calls that it had made before it. The code then does the same as before, because its clock and its random
 * values are recorded, too.
 */
import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ServiceEntry } from '../../../backend/calls/answer-call.js';
import { nameAndMessage } from '../../../bindings/callbacks/callback-service.js';
import { type CallbackReply, MAX_BYTES, MAX_SEQUENCES } from '../../../bindings/callbacks/wire.js';
import type { Service, ServiceBody, ServiceCall, ServiceReply } from '../../../bindings/service.js';
import { EdgeError, type EdgeErrorCode } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import { measured } from '../../../quotas/host/call-work.js';
import { isObject } from '../../../quotas/schema/describe.js';
import type { PausedRun } from '../types.js';
import {
  isSameCall,
  LEDGER_VERSION,
  type Ledger,
  type LedgerAnswer,
  type LedgerCall,
  type LedgerEntry,
  MAX_LEDGER_BYTES,
  sizeOf,
} from './ledger.js';
import { base64, bodyOf, bytesOf, wholeOf } from './ledger-bytes.js';

/** The decision about the call that a paused run waits for. */
export type Decision = { readonly approved: true } | { readonly approved: false; readonly reason: string };

/** A call that is about to be made. */
export interface BegunCall {
  /** The same when the code runs again. */
  readonly id: string;
  readonly index: number;
  /** Somebody has approved it already. */
  readonly isApproved: boolean;
}

export interface RecordParts {
  /** A paused run that continues. */
  readonly resumed?: { readonly ledger: Ledger; readonly decision: Decision };
  /** Counts bytes of the heap for the account; negative when they are released. */
  readonly hold: (bytes: number) => void;
  /** All calls that were running have ended, and the run waits for approval. */
  readonly onPaused: () => void;
  /** The code does not do the same as before. */
  readonly onDiverged: (error: EdgeError) => void;
  /** Stores the ledger of a run that is paused. */
  readonly keep: (ledger: Ledger) => Promise<PausedRun>;
}

export class RunRecord {
  readonly randomKey: string;
  readonly clockMs: number;
  readonly #parts: RecordParts;
  readonly #entries: LedgerEntry[] = [];
  /** Entries of the ledger of before. */
  readonly #earlier: number;
  /** Recorded calls that the code has not repeated. */
  readonly #awaited = new Set<number>();
  /** Recorded calls that the code has repeated, and that wait for the place of their answers. */
  readonly #replayed = new Map<number, (answer: LedgerAnswer | undefined) => void>();
  #next = 0;
  /** Calls whose tools run. */
  readonly #running = new Set<number>();
  /** Calls that `limits.calls` counts. */
  readonly #counted = new Set<number>();
  #run: string;
  #bytes = 0;
  /** Bytes of inputs that are being read. */
  #readingBytes = 0;
  /** Entries that the ledger has not. */
  #unrecorded = 0;
  #problem: string | undefined;
  #pending: number | undefined;
  /** The first call that was not expected. */
  #strayed: EdgeError | undefined;
  #isOver = false;

  constructor(parts: RecordParts) {
    this.#parts = parts;
    const ledger = parts.resumed?.ledger;
    this.randomKey = ledger?.randomKey ?? randomBytes(32).toString('hex');
    this.clockMs = ledger?.clockMs ?? Date.now();
    this.#run = ledger?.run ?? '';
    for (const entry of ledger?.entries ?? []) this.#add(entry);
    this.#earlier = this.#entries.length;
    for (const [index, { kind }] of this.#entries.entries()) if (kind === 'call') this.#awaited.add(index);
  }

  /** The code has come to where it was before. */
  get isReplayed(): boolean {
    return this.#next === this.#earlier;
  }

  /** Recorded calls that `limits.calls` counts and that are not retried. */
  get earlierCalls(): number {
    const isDenied = this.#parts.resumed?.decision.approved === false;
    const earlier = this.#entries.slice(0, this.#earlier);
    return earlier.filter(entry => entry.kind === 'answer' && entry.isCounted).length + (isDenied ? 1 : 0);
  }

  /** The error of a run that has ended before it came to where it was. @param code of the error that it has ended with; undefined when it has returned */
  divergence(code?: EdgeErrorCode): EdgeError | undefined {
    if (this.#strayed !== undefined || this.isReplayed) return this.#strayed;
    switch (code) {
      case undefined:
        return this.#diverged('it has ended');
      case 'EDGE_HANDLER_THREW':
      case 'EDGE_HANDLER_STALLED':
        return this.#diverged('it has failed');
      case 'EDGE_WALL_TIME_LIMIT':
        // It waits for an answer whose place is behind a call that it does not make.
        return this.#replayed.size > 0 ? this.#diverged('it waits') : undefined;
      default:
        return undefined;
    }
  }

  /** `limits.calls` counts this call, also when the run is resumed. */
  count({ index }: BegunCall): void {
    this.#counted.add(index);
  }

  /** @param make makes a call that is not in the ledger */
  service(make: (call: ServiceCall, begun: BegunCall) => Promise<ServiceReply>): Service {
    return async call => {
      const { entry, body } = await this.#read(call);
      const { work } = call;
      if (this.#pending !== undefined) {
        this.#add(entry);
        return await givenUp(call);
      }
      let index: number;
      if (this.#awaited.size === 0) index = this.#add(entry);
      else {
        const found = measured(work, () => this.#find(entry));
        if (found === undefined) {
          this.#strayed ??= this.#diverged(`it calls ${entry.tool}()`);
          this.#parts.onDiverged(this.#strayed);
          return await givenUp(call);
        }
        index = found;
        this.#awaited.delete(index);
        const answer = await this.#answered(index);
        if (answer !== undefined) return { head: answer.reply, body: bodyOf(bytesOf(answer.bytes)) };
      }
      this.#run ||= call.origin?.invocation ?? '';
      return await this.#made(withBody(call, body), index, make);
    };
  }

  /** Before the tool of a call runs: it does not when the run is paused by then. */
  async enter({ index }: BegunCall, signal: AbortSignal): Promise<void> {
    // An approved one runs already: its approval would be lost.
    if (this.#running.has(index)) return;
    if (this.#pending !== undefined) await givenUp({ signal });
    this.#running.add(index);
  }

  /** The call waits for approval: the run ends as soon as no tool runs any more. @throws EdgeError EDGE_NOT_SUPPORTED */
  async pause({ index }: BegunCall, signal: AbortSignal): Promise<never> {
    this.#checkWhole();
    // The first one; the others are asked about again when the run continues.
    this.#pending ??= index;
    this.#settle();
    return await givenUp({ signal });
  }

  /** The same service, whose calls the ledger cannot have. */
  spoiledBy(entry: ServiceEntry): ServiceEntry {
    const services = [...entry.services].map(([name, service]): [string, Service] => [
      name,
      call => {
        this.#spoil('it has used the network, whose answers are not recorded; let a tool make the request');
        return service(call);
      },
    ]);
    return { ...entry, services: new Map(services) };
  }

  /** Stores the ledger. Rejects with EDGE_NOT_SUPPORTED when it is not whole, and as the storage does. */
  async keep(code: string, input: Ledger['input']): Promise<PausedRun> {
    this.#checkWhole();
    const { clockMs, randomKey } = this;
    return await this.#parts.keep({
      version: LEDGER_VERSION,
      run: this.#run,
      code,
      input,
      randomKey,
      clockMs,
      entries: this.#entries,
      pending: this.#pending ?? 0,
      pausedAt: Date.now(),
    });
  }

  /** @throws EdgeError EDGE_NOT_SUPPORTED when the ledger is not whole */
  #checkWhole(): void {
    if (this.#problem !== undefined)
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Cannot pause the run: ${this.#problem}`);
  }

  /** The ledger cannot be kept any more, so the run cannot be paused. */
  #spoil(problem: string): void {
    this.#problem ??= problem;
  }

  /** The memory of the ledger is no longer counted. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.hold(-this.#bytes);
  }

  async #made(
    call: ServiceCall,
    index: number,
    make: (call: ServiceCall, begun: BegunCall) => Promise<ServiceReply>,
  ): Promise<ServiceReply> {
    const resumed = index < this.#earlier ? this.#parts.resumed : undefined;
    const decision = resumed?.ledger.pending === index ? resumed.decision : undefined;
    if (decision?.approved === false) {
      this.#counted.add(index);
      return this.#answer(index, { e: ['Error', decision.reason] }, NOTHING);
    }
    if (decision !== undefined) this.#running.add(index);
    const begun = { id: this.#idOf(index), index, isApproved: decision !== undefined };
    try {
      const { head, body } = await replied(call, make(call, begun));
      const reply = head as CallbackReply; // a callback service has made it
      if ('s' in reply && reply.s) {
        this.#spoil('a tool has answered with a stream');
        return { head: { ...reply, t: Date.now() }, body: body ?? null };
      }
      const answer = this.#answer(index, reply, await wholeOf(body ?? NOTHING, MAX_BYTES));
      this.#left(index, call);
      if (this.#pending !== undefined) await givenUp(call);
      return answer;
    } finally {
      this.#left(index, call);
    }
  }

  #answer(call: number, reply: CallbackReply, bytes: Uint8Array): ServiceReply {
    const timed = { ...reply, t: Date.now() };
    const isCounted = this.#counted.has(call);
    this.#add({ kind: 'answer', call, reply: timed, bytes: base64(bytes), isCounted });
    return { head: timed, body: bodyOf(bytes) };
  }

  /** The tool of a call runs no more. When the run has ended before, for whatever reason, it is not paused. */
  #left(index: number, { signal }: ServiceCall): void {
    if (this.#running.delete(index) && !signal.aborted) this.#settle();
  }

  #settle(): void {
    if (this.#pending !== undefined && this.#running.size === 0) this.#parts.onPaused();
  }

  /** Returns the index of the entry. */
  #add(entry: LedgerEntry): number {
    const bytes = sizeOf(entry);
    if (this.#bytes + bytes > MAX_LEDGER_BYTES)
      this.#spoil(`its calls and answers have more than ${MAX_LEDGER_BYTES} bytes`);
    if (this.#problem !== undefined || this.#isOver) return this.#entries.length + this.#unrecorded++;
    this.#bytes += bytes;
    this.#parts.hold(bytes);
    return this.#entries.push(entry) - 1;
  }

  /** Reads a body that fits into the ledger. The bytes were announced by a cell, which may send others: the service behind looks at them again. */
  async #read({ args, body, work }: ServiceCall): Promise<{ entry: LedgerCall; body: ServiceBody | null }> {
    const { f, v, b, s } = isObject(args) ? args : {};
    const lengths = Array.isArray(b) ? b.slice(0, MAX_SEQUENCES).map(Number) : [];
    const entry = (bytes: Uint8Array): LedgerCall =>
      measured(work, () => ({
        kind: 'call',
        tool: String(f),
        input: JSON.stringify(v) ?? '',
        lengths,
        bytes: base64(bytes),
      }));
    if (body === null) return { entry: entry(NOTHING), body };
    const announced = lengths.reduce((sum, length) => sum + length, 0);
    const isRead = s === false && announced >= 0 && this.#readingBytes + announced <= MAX_LEDGER_BYTES;
    if (!isRead) {
      this.#spoil('a stream, or too many bytes, were passed to a tool');
      return { entry: entry(NOTHING), body };
    }
    this.#readingBytes += announced;
    this.#parts.hold(announced);
    try {
      const whole = await wholeOf(body, announced);
      return { entry: entry(whole), body: whole };
    } finally {
      this.#readingBytes -= announced;
      this.#parts.hold(-announced);
    }
  }

  #find(entry: LedgerCall): number | undefined {
    for (const index of this.#awaited) {
      const earlier = this.#entries[index];
      if (earlier?.kind === 'call' && isSameCall(earlier, entry)) return index;
    }
    return undefined;
  }

  /** Resolves at the place of the answer; with undefined for a call without an answer, as soon as all others have been given. */
  #answered(index: number): Promise<LedgerAnswer | undefined> {
    return new Promise(resolve => {
      this.#replayed.set(index, resolve);
      this.#proceed();
    });
  }

  #proceed(): void {
    for (; this.#next < this.#earlier; this.#next++) {
      const entry = this.#entries[this.#next];
      if (entry === undefined) return;
      if (entry.kind === 'call') {
        if (this.#awaited.has(this.#next)) return;
        continue;
      }
      const resolve = this.#replayed.get(entry.call);
      if (resolve === undefined) return;
      this.#replayed.delete(entry.call);
      resolve(entry);
    }
    for (const resolve of this.#replayed.values()) resolve(undefined);
    this.#replayed.clear();
  }

  #diverged(what: string): EdgeError {
    const [first] = this.#awaited;
    const entry = first === undefined ? undefined : this.#entries[first];
    const expected = entry?.kind === 'call' ? `call ${entry.tool}(${shown(entry.input)})` : 'wait for its answers';
    return new EdgeError(
      'EDGE_REPLAY_DIVERGED',
      `Cannot resume the run: the code does not do the same as before: ${what} where it did ${expected}`,
    );
  }

  #idOf(index: number): string {
    return `${this.#run}-${index + 1}`;
  }
}

const MAX_SHOWN = 200;
const NOTHING = new Uint8Array();

function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** The same call with a body that was read. */
function withBody(call: ServiceCall, body: ServiceBody | null): ServiceCall {
  const { method, args, work, traceHeaders, origin } = call;
  return {
    method,
    args,
    body,
    work,
    traceHeaders,
    origin,
    get signal() {
      return call.signal;
    },
  };
}

/** An error that is no answer of the tool, such as one about a value that cannot be copied, is an answer as well: the code continues with it. */
async function replied({ signal }: ServiceCall, made: Promise<ServiceReply>): Promise<ServiceReply> {
  try {
    return await made;
  } catch (error) {
    // The run is over.
    if (signal.aborted) throw error;
    return { head: { e: nameAndMessage(error) } satisfies CallbackReply };
  }
}

/** Waits for the end of the run. */
function givenUp({ signal }: Pick<ServiceCall, 'signal'>): Promise<never> {
  setMaxListeners(0, signal);
  return new Promise((_, reject) => {
    const onAbort = guarded((): void => reject(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
