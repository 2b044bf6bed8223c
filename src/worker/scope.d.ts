/** The global scope: its events, timers, texts and the console. */

declare var self: typeof globalThis;

// Events of the scope. The events of a classic script come first: modules export handlers instead.

declare function addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
declare function addEventListener(type: 'scheduled', listener: (event: ScheduledEvent) => void): void;
declare function addEventListener(
  type: 'error',
  listener: (event: ErrorEvent) => void,
  options?: AddEventListenerOptions | boolean,
): void;
declare function addEventListener(
  type: 'rejectionhandled' | 'unhandledrejection',
  listener: (event: PromiseRejectionEvent) => void,
  options?: AddEventListenerOptions | boolean,
): void;
declare function addEventListener(
  type: string,
  listener: EventListenerOrEventListenerObject | null,
  options?: AddEventListenerOptions | boolean,
): void;
declare function removeEventListener(
  type: string,
  listener: EventListenerOrEventListenerObject | ((event: never) => void) | null,
  options?: EventListenerOptions | boolean,
): void;
/** Returns false when a listener has called `preventDefault()`. */
declare function dispatchEvent(event: Event): boolean;
/** Reports an error as if it had been thrown and not been caught. */
declare function reportError(error: unknown): void;

declare var onerror: ((event: ErrorEvent) => unknown) | null;
declare var onrejectionhandled: ((event: PromiseRejectionEvent) => unknown) | null;
declare var onunhandledrejection: ((event: PromiseRejectionEvent) => unknown) | null;

interface ExtendableEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
  /** When the handler fails, the application answers the request instead, in place of an error. */
  passThroughOnException(): void;
}
declare var ExtendableEvent: EventPhases & {
  prototype: ExtendableEvent;
  new (type: string, init?: EventInit): ExtendableEvent;
};

/** `addEventListener('fetch', event => event.respondWith(...))`. */
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Response | PromiseLike<Response>): void;
}
declare var FetchEvent: EventPhases & {
  prototype: FetchEvent;
  new (type: string, init: EventInit & { request: Request }): FetchEvent;
};
/** The name of the event in `edgehost/worker/dom`. */
type WorkerFetchEvent = FetchEvent;

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

// Timers end with their invocation; timers of stateful objects end with the instance.

declare function setTimeout<Args extends unknown[]>(
  handler: (...args: Args) => void,
  delayMs?: number,
  ...args: Args
): number;
declare function setInterval<Args extends unknown[]>(
  handler: (...args: Args) => void,
  delayMs?: number,
  ...args: Args
): number;
declare function clearTimeout(id: number | null | undefined): void;
declare function clearInterval(id: number | null | undefined): void;
declare function queueMicrotask(callback: () => void): void;

interface Scheduler {
  /** Resolves after the delay; rejects when the signal aborts first. */
  wait(delayMs: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
}
declare var Scheduler: { prototype: Scheduler };
declare var scheduler: Scheduler;

// Texts.

/** From base64 to a string of bytes. */
declare function atob(data: string): string;
/** From a string of bytes to base64. */
declare function btoa(data: string): string;

interface TextEncoder {
  readonly encoding: 'utf-8';
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}
declare var TextEncoder: { prototype: TextEncoder; new (): TextEncoder };

interface TextDecoderOptions {
  fatal?: boolean;
  ignoreBOM?: boolean;
}

interface TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: BufferSource | null, options?: { stream?: boolean }): string;
}
declare var TextDecoder: { prototype: TextDecoder; new (label?: string, options?: TextDecoderOptions): TextDecoder };

interface TextEncoderStream {
  readonly encoding: 'utf-8';
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<string>;
}
declare var TextEncoderStream: { prototype: TextEncoderStream; new (): TextEncoderStream };

interface TextDecoderStream {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<BufferSource>;
}
declare var TextDecoderStream: {
  prototype: TextDecoderStream;
  new (label?: string, options?: TextDecoderOptions): TextDecoderStream;
};

// The console: what it writes are `log` events of the host.

interface Console {
  assert(condition?: boolean, ...data: unknown[]): void;
  /** Does nothing. */
  clear(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  debug(...data: unknown[]): void;
  dir(item?: unknown, options?: unknown): void;
  dirxml(...data: unknown[]): void;
  error(...data: unknown[]): void;
  group(...data: unknown[]): void;
  groupCollapsed(...data: unknown[]): void;
  groupEnd(): void;
  info(...data: unknown[]): void;
  log(...data: unknown[]): void;
  table(data?: unknown, columns?: readonly string[]): void;
  time(label?: string): void;
  timeEnd(label?: string): void;
  timeLog(label?: string, ...data: unknown[]): void;
  trace(...data: unknown[]): void;
  warn(...data: unknown[]): void;
}
declare var console: Console;

interface Navigator {
  readonly userAgent: string;
}
declare var Navigator: { prototype: Navigator };
declare var navigator: Navigator;
