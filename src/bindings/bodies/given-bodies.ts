/**
 * The bodies that the application gets as streams and has not read to their end. The host holds their bytes, and the account pays for them. So a body that
 * nobody can read any more is cancelled when it is collected, as Node's own fetch does it. One that nobody reads is cancelled after a while.
 */
import type { ReadableStream } from 'node:stream/web';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { Collector } from './collector.js';
import { GivenBody, type GivenBodySource } from './given-body.js';

export interface GivenBodiesOptions {
  /** How long a body may be without a reader. */
  readonly unreadMs: number;
  /** How long a reader may take no more of it: one that is piped to a slow client. */
  readonly idleMs: number;
  readonly warn: (error: Error) => void;
}

/** The account that pays for the bytes of a body. */
export interface BodyPayer {
  /** It holds so much that no new work is accepted. */
  readonly isCrowded: boolean;
  /** It holds half as much. */
  readonly isFilling: boolean;
  /** Bodies that the application has not read to their end. */
  unreadBodies: number;
}

/** The same while new work is refused because of all that is held: a burst of bodies that nobody reads must not keep the account from working for long. */
const CROWDED_MS = 1000;
/** Bodies are looked at this often, or four times in the time that they have. */
const LOOK_MS = 1000;
const MIN_LOOK_MS = 10;

export class GivenBodies {
  readonly #options: GivenBodiesOptions;
  readonly #open = new Map<GivenBody, BodyPayer | undefined>();
  readonly #collector: Collector;
  readonly #collected = new FinalizationRegistry<GivenBody>(body => {
    if (this.#open.has(body)) this.#collector.found();
    this.#cancel(body);
  });
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GivenBodiesOptions, collector = new Collector()) {
    this.#options = options;
    this.#collector = collector;
  }

  /**
   * The stream for the application, and the body, by which its source fails it.
   *
   * @param of whose body it is, for messages: 'function "hello" of account "acme"'
   */
  give(
    of: string,
    source: GivenBodySource,
    payer?: BodyPayer,
    isBytes = true,
  ): { readonly stream: ReadableStream<Uint8Array>; readonly body: GivenBody } {
    const body = new GivenBody(of, source, over => this.#over(over), performance.now());
    const stream = body.open(isBytes);
    this.#open.set(body, payer);
    if (payer !== undefined) {
      payer.unreadBodies++;
      if (payer.isFilling) this.#collector.ask();
    }
    this.#collected.register(stream, body);
    this.#timer ??= setInterval(
      guarded(() => this.#look()),
      this.#lookMs,
    ).unref();
    return { stream, body };
  }

  /**
   * The same for chunks that are asked for one after the other.
   *
   * @param isBytes the memory of the chunks is the reader's
   */
  stream(of: string, chunks: AsyncIterable<Uint8Array>, isBytes = true): ReadableStream<Uint8Array> {
    return this.give(of, sourceOf(chunks), undefined, isBytes).stream;
  }

  /** All of it is there, and its memory is the application's: it may be read at any time. */
  keep(body: GivenBody): void {
    this.#over(body);
  }

  get #lookMs(): number {
    const { unreadMs, idleMs } = this.#options;
    return Math.max(MIN_LOOK_MS, Math.min(LOOK_MS, unreadMs / 4, idleMs / 4));
  }

  #over(body: GivenBody): void {
    const payer = this.#open.get(body);
    if (!this.#open.delete(body)) return;
    if (payer !== undefined) payer.unreadBodies--;
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const nowMs = performance.now();
    const cancelled = new Map<string, Cancelled>();
    for (const [body, payer] of [...this.#open]) {
      const allowedMs = this.#allowedMs(body, payer);
      if (body.unreadMs(nowMs) < allowedMs) continue;
      const { count = 0 } = cancelled.get(body.of) ?? {};
      cancelled.set(body.of, { count: count + 1, isCrowded: payer?.isCrowded === true, allowedMs });
      this.#cancel(body, unreadError(body.of, { count: 1, isCrowded: payer?.isCrowded === true, allowedMs }));
    }
    for (const [of, all] of cancelled) this.#options.warn(unreadError(of, all));
  }

  #allowedMs(body: GivenBody, payer: BodyPayer | undefined): number {
    const { unreadMs, idleMs } = this.#options;
    if (body.hasReader) return idleMs;
    return payer?.isCrowded === true && unreadMs !== Number.POSITIVE_INFINITY
      ? Math.min(unreadMs, CROWDED_MS)
      : unreadMs;
  }

  /** Called from a timer or by the collector, so an exception would end the application. */
  #cancel(body: GivenBody, error?: Error): void {
    try {
      body.cancel(error);
    } catch (cause) {
      this.#options.warn(
        new EdgeError('EDGE_INTERNAL', `Cannot cancel a body of ${body.of}: ${String(cause)}`, { cause }),
      );
    }
  }
}

interface Cancelled {
  readonly count: number;
  readonly isCrowded: boolean;
  readonly allowedMs: number;
}

function unreadError(of: string, { count, isCrowded, allowedMs }: Cancelled): EdgeError {
  const [bodies, were] = count === 1 ? ['a body', 'it was'] : [`${count} bodies`, 'they were'];
  const why = isCrowded ? ', while the account held so much that new work was refused' : '';
  return new EdgeError(
    'EDGE_BODY_UNREAD',
    `The application did not read ${bodies} of ${of} for ${allowedMs} ms (option unreadMs of the host)${why}, so ${were} cancelled: read or cancel the body`,
  );
}

function sourceOf(chunks: AsyncIterable<Uint8Array>): GivenBodySource {
  const iterator = chunks[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done === true ? undefined : value;
    },
    // How it takes its end is the source's own matter.
    cancel: () => {
      iterator.return?.()?.then(undefined, () => {});
    },
  };
}

/** How a client of the application gives it bodies, and what messages call the client: 'bucket "files" of account "acme"'. */
export interface ClientBodies {
  readonly bodies: GivenBodies;
  readonly of: string;
}

/** For bodies without a host: collected bodies are cancelled, and no time is set. */
export const UNTIMED_BODIES = new GivenBodies({
  unreadMs: Number.POSITIVE_INFINITY,
  idleMs: Number.POSITIVE_INFINITY,
  warn: () => {},
});
export const UNTIMED: ClientBodies = { bodies: UNTIMED_BODIES, of: 'a client' };
