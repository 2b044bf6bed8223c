/** Bodies that come from the host and bodies that go to it. Reading and writing cross the bridge chunk by chunk, and only as fast as the other side allows. */
import { BODY_ENDED, Ev, Op } from '../isolate/ops/table.ts';
import { errorFromText, onEvent, op, opNumber, opString } from './bridge.ts';
import { leaving, mayLeave } from './output-gate.ts';
import {
  MapCtor,
  mapDelete,
  mapGet,
  mapSet,
  PromiseCtor,
  promiseResolve,
  TypeErrorCtor,
  typedArrayLength,
  Uint8ArrayCtor,
} from './primordials.ts';

/** The most that one read hands to the guest, so that a fast producer does not make huge arrays. */
const MAX_CHUNK_BYTES = 65_536;

interface Waiter {
  resolve(): void;
  reject(reason: unknown): void;
}

const asItIs = (error: unknown): unknown => error;

const readers = new MapCtor<number, Waiter>();
/** Bodies whose failure is awaited without reading them. */
const watched = new MapCtor<number, HostBody>();
const writers = new MapCtor<number, HostSink>();

/** Bytes of an exchange on their way from the host. Read it once: `text` or `bytes` when it is complete, else `next`. */
export class HostBody {
  exchange: number;
  /** The number of bytes when all of them are there from the start, else BODY_STREAM. */
  readonly size: number;
  /** The length of one that is still on its way, where its sender has said it. The body fails when it ends with another one. */
  expectedSize: number | undefined = undefined;
  #readBytes = 0;
  #failure: { readonly reason: unknown } | undefined;
  #onFail: ((reason: unknown) => void) | undefined;
  #onEnd: (() => void) | undefined;
  #isEnded = false;
  /** Makes the error that readers receive: for example, a response of fetch() fails with a TypeError. */
  toError: (error: unknown) => unknown = asItIs;

  constructor(exchange: number, size: number) {
    this.exchange = exchange;
    this.size = size;
  }

  get isComplete(): boolean {
    return this.size >= 0;
  }

  /** The whole body, decoded from UTF-8 without its BOM. Only when complete. */
  text(): string {
    this.check();
    return opString(Op.BodyText, this.exchange);
  }

  /** The whole body. Only when complete. */
  bytes(): Uint8Array {
    this.check();
    const target = new Uint8ArrayCtor(this.size);
    if (this.size > 0) op(Op.BodyRead, this.exchange, target);
    return target;
  }

  /** The next chunk, or undefined at the end. Call it again only after it settled. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const available = this.#available();
      if (available > 0) {
        const target = new Uint8ArrayCtor(available < MAX_CHUNK_BYTES ? available : MAX_CHUNK_BYTES);
        op(Op.BodyRead, this.exchange, target);
        this.#readBytes += typedArrayLength(target);
        return target;
      }
      if (available === BODY_ENDED) {
        this.#checkLength();
        this.#ended();
        return undefined;
      }
      await new PromiseCtor<void>((resolve, reject) => {
        mapSet(readers, this.exchange, { resolve, reject });
      });
    }
  }

  #checkLength(): void {
    const expected = this.expectedSize;
    if (expected === undefined || expected === this.#readBytes) return;
    const text = `The body has ${this.#readBytes} bytes, and its length was announced as ${expected}`;
    this.fail(this.toError(new TypeErrorCtor(text)));
    this.check();
  }

  /** Throws when it has failed. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Calls back once, when the body fails, even if it is not being read; or when its end was found. */
  watch(onFail: (reason: unknown) => void, onEnd?: () => void): void {
    this.#onFail = onFail;
    this.#onEnd = onEnd;
    mapSet(watched, this.exchange, this);
  }

  /** Finds out whether it has failed or ended, now or when there is nothing left to be read; for the events below. */
  probe(): void {
    try {
      if (this.#available() === BODY_ENDED) this.#ended();
    } catch {
      // The watcher has been notified by `#available()`.
    }
  }

  #ended(): void {
    this.#isEnded = true;
    mapDelete(watched, this.exchange);
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.();
  }

  #available(): number {
    this.check();
    if (this.#isEnded) return BODY_ENDED;
    try {
      return opNumber(Op.BodyAvailable, this.exchange);
    } catch (error) {
      this.fail(this.toError(error));
    }
    this.check();
    return 0;
  }

  /** No more of it is wanted. */
  stop(): void {
    mapDelete(watched, this.exchange);
    try {
      op(Op.BodyStop, this.exchange);
    } catch {
      // The exchange is over already.
    }
    wakeReader(this.exchange);
  }

  /** Wakes the reader, which then finds the failure. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    mapDelete(watched, this.exchange);
    wakeReader(this.exchange);
    this.#onFail?.(reason);
  }

  /** Hands the rest of this body to another exchange as its outgoing body; the guest never sees the bytes. */
  pipeTo(exchange: number): void {
    op(Op.BodyPipe, this.exchange, exchange);
  }

  /** All of it went to where it was piped to: what reads it now finds its end. */
  wasPiped(): void {
    this.expectedSize = undefined;
    this.#ended();
  }
}

/** Bytes on their way to the host. */
export class HostSink {
  readonly exchange: number;
  /** Called once when the reader wants no more, or the exchange has failed. */
  onStop: ((reason: unknown, isFailure: boolean) => void) | undefined;
  readonly #isHeld: boolean;
  #waiter: Waiter | undefined;
  #stopped: { readonly reason: unknown } | undefined;

  /** @param isHeld whether the output gate holds it: a write of an object must not wait for itself */
  constructor(exchange: number, isHeld = true) {
    this.exchange = exchange;
    this.#isHeld = isHeld;
    mapSet(writers, exchange, this);
  }

  /**
   * Resolves when the next chunk may be written; rejects when the reader has stopped, or what an object had written before it was not stored. The bytes must
   * stay as they are until then.
   */
  write(chunk: Uint8Array): Promise<void> {
    return !this.#isHeld || mayLeave() ? this.#write(chunk) : leaving(() => this.#write(chunk));
  }

  #write(chunk: Uint8Array): Promise<void> {
    if (this.#stopped !== undefined) throw this.#stopped.reason;
    const credit = opNumber(Op.BodyWrite, this.exchange, chunk);
    if (credit > 0) return promiseResolve(undefined);
    return new PromiseCtor((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  /** Sends the rest of a body that comes from the host, and its end. Resolves when it may leave; undefined: it does. */
  pipeFrom(body: HostBody): Promise<void> | undefined {
    if (!mayLeave()) return leaving(() => body.pipeTo(this.exchange));
    body.pipeTo(this.exchange);
    return undefined;
  }

  /** Resolves when the end has left; undefined: it has. */
  end(): Promise<void> | undefined {
    if (this.#isHeld && !mayLeave()) return leaving(() => this.endNow());
    this.endNow();
    return undefined;
  }

  /** For callers that have already waited at the gate. */
  endNow(): void {
    mapDelete(writers, this.exchange);
    if (this.#stopped === undefined) op(Op.BodyEnd, this.exchange);
  }

  /** The text is not kept back: it must say nothing that the function has made up while the gate was closed. */
  fail(message: string): void {
    mapDelete(writers, this.exchange);
    if (this.#stopped === undefined) op(Op.BodyFail, this.exchange, message);
  }

  /** Called by the event for new credit. */
  resume(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.resolve();
  }

  stopped(reason: unknown, isFailure: boolean): void {
    this.#stopped = { reason };
    mapDelete(writers, this.exchange);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(reason);
    this.onStop?.(reason, isFailure);
  }
}

/** Resolves with the next Ev.Data of the exchange. */
export function whenData(exchange: number): Promise<void> {
  return new PromiseCtor((resolve, reject) => {
    mapSet(readers, exchange, { resolve, reject });
  });
}

function wakeReader(exchange: number): boolean {
  const reader = mapGet(readers, exchange);
  if (reader === undefined) return false;
  mapDelete(readers, exchange);
  reader.resolve();
  return true;
}

/** The source of the body that goes out on the exchange is canceled, if there is one. */
export function stopSending(exchange: number, reason: unknown, isFailure = true): void {
  mapGet(writers, exchange)?.stopped(reason, isFailure);
}

/** The exchange has ended: its waiting reader, watcher and writer are dropped. */
export function dropExchange(exchange: number): void {
  mapDelete(readers, exchange);
  mapDelete(watched, exchange);
  mapDelete(writers, exchange);
}

onEvent(Ev.Data, (exchange: number) => {
  if (!wakeReader(exchange)) mapGet(watched, exchange)?.probe();
});
onEvent(Ev.Credit, (exchange: number) => mapGet(writers, exchange)?.resume());
onEvent(Ev.Stopped, (exchange: number, text: string, isFailure: number) =>
  stopSending(exchange, errorFromText(text), isFailure === 1),
);
