/** The global scope: its events, timers, texts and the console. */

declare var self: typeof globalThis;
/** A function has no origin: always 'null'. */
declare var origin: string;

// Events of the scope. The events of a classic script come first: modules export handlers instead.

declare function addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
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

declare var Scheduler: { prototype: Scheduler };
declare var scheduler: Scheduler;

// Texts.

/** From base64 to a string of bytes. */
declare function atob(data: string): string;
/** From a string of bytes to base64. */
declare function btoa(data: string): string;

// The console: what it writes are `log` events of the host.

declare var console: Console;

interface Navigator {
  /** 'EdgeHost'; with the compatibility flag `global_navigator` 'Cloudflare-Workers'. */
  readonly userAgent: string;
  /** Always 1. */
  readonly hardwareConcurrency: number;
  /** 'en'; undefined before the compatibility date 2025-05-19. */
  readonly language: string;
  /** Sends a POST request, for which the event stays open. Returns false when the event is over. */
  sendBeacon(url: string | URL, data?: BodyInit | null): boolean;
}
declare var Navigator: { prototype: Navigator };
declare var navigator: Navigator;
