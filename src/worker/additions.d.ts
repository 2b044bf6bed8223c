/** Declarations beyond TypeScript's library, which `edgehost/worker` and `edgehost/worker/dom` share. */

/** The values of `eventPhase`, which every class of events has. */
type EventPhases = Pick<typeof Event, 'NONE' | 'CAPTURING_PHASE' | 'AT_TARGET' | 'BUBBLING_PHASE'>;

interface ExtendableEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
  /** When the handler fails, the application answers the request instead, in place of an error. */
  passThroughOnException(): void;
}

/** The event that a classic script receives: `addEventListener('scheduled', event => ...)`. */
interface ScheduledEvent extends ExtendableEvent {
  /** The cron expression, empty when there was none. */
  readonly cron: string;
  /** Milliseconds since the epoch. */
  readonly scheduledTime: number;
  noRetry(): void;
}
declare var ScheduledEvent: EventPhases & {
  prototype: ScheduledEvent;
  new (type: string, init: EventInit & { cron?: string; scheduledTime?: number }): ScheduledEvent;
};
declare function addEventListener(type: 'scheduled', listener: (event: ScheduledEvent) => void): void;

interface QuotaExceededError extends DOMException {
  readonly quota: number | null;
  readonly requested: number | null;
}
declare var QuotaExceededError: Omit<typeof DOMException, 'prototype'> & {
  prototype: QuotaExceededError;
  new (message?: string, options?: { readonly quota?: number; readonly requested?: number }): QuotaExceededError;
};

/** Names of the hosted platform. */
interface CloudflareNames {
  /** True for each flag that holds for the function, by its date or by name; undefined for all others. */
  readonly compatibilityFlags: Readonly<Record<string, boolean | undefined>>;
}
declare var Cloudflare: CloudflareNames;

/** Not supported: its constructor throws (EDGE_NOT_SUPPORTED). */
type HTMLRewriter = object;
declare var HTMLRewriter: { prototype: HTMLRewriter; new (): HTMLRewriter };

interface EventSourceInit {
  /** Its method `fetch()` is called in place of the global one: a service binding, say. */
  fetcher?: { fetch(input: string, init?: RequestInit): Promise<Response> };
}

interface RequestInit {
  /** The `cf` of the new request. It changes nothing about `fetch()`. */
  cf?: object;
}

interface Request {
  /**
   * Facts about the connection of a request that came in: `httpProtocol`, and over TLS `tlsVersion` and `tlsCipher`, and the facts that the application gave
   * to `fetch()`. Requests that a function makes have the `cf` of their constructor, or none.
   */
  readonly cf: Readonly<Record<string, unknown>> | undefined;
  /** Undefined for a request that did not come over HTTP: of the application's own, or made by a function. */
  readonly client: RequestClient | undefined;
  readonly duplex: 'half';
  readonly isReloadNavigation: boolean;
  readonly isHistoryNavigation: boolean;
}

interface ResponseInit {
  /** With status 101: the socket that the client gets. */
  webSocket?: WebSocket | null;
}

interface Response {
  /** The socket of a response with status 101; null for all others. */
  readonly webSocket: WebSocket | null;
}

interface CacheStorage {
  /** The cache that all functions of the account share without opening it by name. */
  readonly default: Cache;
}

interface WebSocket {
  /** Receives messages from now on. A socket made by the constructor needs none of it. */
  accept(options?: WebSocketAcceptOptions): void;
  /** Keeps a copy of the value with the socket: of one that sleeps for as long as it is open. At most 16,384 bytes when it is serialized. */
  serializeAttachment(value: unknown): void;
  /** A copy of the value; null when nothing was attached. */
  deserializeAttachment(): any;
}

interface WebSocketAcceptOptions {
  /** Taken for compatibility: a close is always answered. */
  allowHalfOpen?: boolean;
}

/** Two sockets that are each other's ends. One is accepted, the other returned: `new Response(null, { status: 101, webSocket })`. */
interface WebSocketPair {
  [Symbol.iterator](): IterableIterator<WebSocket>;
}
declare var WebSocketPair: {
  prototype: WebSocketPair;
  new (): WebSocketPair & { readonly 0: WebSocket; readonly 1: WebSocket };
};

/** A message that the host answers by itself. @see StatefulObjectState.setWebSocketAutoResponse */
interface WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;
}
declare var WebSocketRequestResponsePair: {
  prototype: WebSocketRequestResponsePair;
  /** At most 2,048 bytes each. */
  new (request: string, response: string): WebSocketRequestResponsePair;
};

interface ReadableStreamBYOBReader {
  /** The standard has `read(view, { min })`. Here the last bytes come with `done: false`, and the next read has `done: true`. */
  readAtLeast<T extends ArrayBufferView>(min: number, view: T): Promise<ReadableStreamReadResult<T>>;
}

/** Bytes in, the same bytes out. */
interface IdentityTransformStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView>;
}
declare var IdentityTransformStream: {
  prototype: IdentityTransformStream;
  new (strategy?: { highWaterMark?: number }): IdentityTransformStream;
};

/** Exactly the given number of bytes in and out; fewer or more are an error. A body made of it is sent with its length. */
interface FixedLengthStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView>;
}
declare var FixedLengthStream: {
  prototype: FixedLengthStream;
  new (expectedLength: number | bigint, strategy?: { highWaterMark?: number }): FixedLengthStream;
};

/** Digests the bytes that are written: `await readable.pipeTo(stream); await stream.digest`. */
interface DigestStream extends WritableStream<ArrayBuffer | ArrayBufferView | string> {
  readonly digest: Promise<ArrayBuffer>;
  readonly bytesWritten: number;
}

interface Crypto {
  readonly DigestStream: {
    prototype: DigestStream;
    new (algorithm: DigestAlgorithm | { readonly name: DigestAlgorithm }): DigestStream;
  };
}

/** In upper or lower case. */
type DigestAlgorithm = 'MD5' | 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512' | (string & {});

interface SubtleCrypto {
  /** Whether two buffers of one length have the same bytes, in a time that does not depend on where they differ. */
  timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
}

interface Scheduler {
  /** Resolves after the delay; rejects when the signal aborts first. */
  wait(delayMs: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
}
