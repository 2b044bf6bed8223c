/** Events, their targets, aborting, and the errors of the web platform. */

interface EventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
}

/** The values of `eventPhase`, of classes and of instances. */
interface EventPhases {
  readonly NONE: 0;
  readonly CAPTURING_PHASE: 1;
  readonly AT_TARGET: 2;
  readonly BUBBLING_PHASE: 3;
}

interface Event extends EventPhases {
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  /** @deprecated the older name of `target` */
  readonly srcElement: EventTarget | null;
  readonly eventPhase: number;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly defaultPrevented: boolean;
  readonly isTrusted: boolean;
  /** Milliseconds, on the clock of `performance.now()`. */
  readonly timeStamp: number;
  /** @deprecated setting it to true is `stopPropagation()` */
  cancelBubble: boolean;
  /** @deprecated setting it to false is `preventDefault()` */
  returnValue: boolean;
  composedPath(): EventTarget[];
  stopPropagation(): void;
  stopImmediatePropagation(): void;
  preventDefault(): void;
  /** @deprecated what the constructor does */
  initEvent(type: string, bubbles?: boolean, cancelable?: boolean): void;
}
declare var Event: EventPhases & { prototype: Event; new (type: string, init?: EventInit): Event };

interface EventListenerOptions {
  capture?: boolean;
}

interface AddEventListenerOptions extends EventListenerOptions {
  once?: boolean;
  passive?: boolean;
  signal?: AbortSignal;
}

type EventListener = (event: Event) => void;

interface EventListenerObject {
  handleEvent(event: Event): void;
}

type EventListenerOrEventListenerObject = EventListener | EventListenerObject;

interface EventTarget {
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: EventListenerOptions | boolean,
  ): void;
  /** Returns false when a listener has called `preventDefault()`. */
  dispatchEvent(event: Event): boolean;
}
declare var EventTarget: { prototype: EventTarget; new (): EventTarget };

interface CustomEventInit<Detail = unknown> extends EventInit {
  detail?: Detail;
}

interface CustomEvent<Detail = any> extends Event {
  readonly detail: Detail;
  /** @deprecated what the constructor does */
  initCustomEvent(type: string, bubbles?: boolean, cancelable?: boolean, detail?: Detail): void;
}
declare var CustomEvent: EventPhases & {
  prototype: CustomEvent;
  new <Detail>(type: string, init?: CustomEventInit<Detail>): CustomEvent<Detail>;
};

interface ErrorEventInit extends EventInit {
  message?: string;
  filename?: string;
  lineno?: number;
  colno?: number;
  error?: unknown;
}

interface ErrorEvent extends Event {
  readonly message: string;
  readonly filename: string;
  readonly lineno: number;
  readonly colno: number;
  readonly error: any;
}
declare var ErrorEvent: EventPhases & { prototype: ErrorEvent; new (type: string, init?: ErrorEventInit): ErrorEvent };

interface PromiseRejectionEventInit extends EventInit {
  promise: Promise<unknown>;
  reason?: unknown;
}

interface PromiseRejectionEvent extends Event {
  readonly promise: Promise<unknown>;
  readonly reason: any;
}
declare var PromiseRejectionEvent: EventPhases & {
  prototype: PromiseRejectionEvent;
  new (type: string, init: PromiseRejectionEventInit): PromiseRejectionEvent;
};

interface AbortSignal extends EventTarget {
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((this: AbortSignal, event: Event) => unknown) | null;
  throwIfAborted(): void;
  addEventListener(
    type: 'abort',
    listener: (this: AbortSignal, event: Event) => unknown,
    options?: AddEventListenerOptions | boolean,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
}
declare var AbortSignal: {
  prototype: AbortSignal;
  abort(reason?: unknown): AbortSignal;
  any(signals: Iterable<AbortSignal>): AbortSignal;
  timeout(milliseconds: number): AbortSignal;
};

interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare var AbortController: { prototype: AbortController; new (): AbortController };

/** The numbers of old errors, of classes and of instances. */
interface DOMExceptionCodes {
  readonly INDEX_SIZE_ERR: 1;
  readonly DOMSTRING_SIZE_ERR: 2;
  readonly HIERARCHY_REQUEST_ERR: 3;
  readonly WRONG_DOCUMENT_ERR: 4;
  readonly INVALID_CHARACTER_ERR: 5;
  readonly NO_DATA_ALLOWED_ERR: 6;
  readonly NO_MODIFICATION_ALLOWED_ERR: 7;
  readonly NOT_FOUND_ERR: 8;
  readonly NOT_SUPPORTED_ERR: 9;
  readonly INUSE_ATTRIBUTE_ERR: 10;
  readonly INVALID_STATE_ERR: 11;
  readonly SYNTAX_ERR: 12;
  readonly INVALID_MODIFICATION_ERR: 13;
  readonly NAMESPACE_ERR: 14;
  readonly INVALID_ACCESS_ERR: 15;
  readonly VALIDATION_ERR: 16;
  readonly TYPE_MISMATCH_ERR: 17;
  readonly SECURITY_ERR: 18;
  readonly NETWORK_ERR: 19;
  readonly ABORT_ERR: 20;
  readonly URL_MISMATCH_ERR: 21;
  readonly QUOTA_EXCEEDED_ERR: 22;
  readonly TIMEOUT_ERR: 23;
  readonly INVALID_NODE_TYPE_ERR: 24;
  readonly DATA_CLONE_ERR: 25;
}

interface DOMException extends Error, DOMExceptionCodes {
  readonly name: string;
  readonly message: string;
  /** @deprecated `name` says what it is */
  readonly code: number;
}
declare var DOMException: DOMExceptionCodes & {
  prototype: DOMException;
  new (message?: string, name?: string): DOMException;
};

interface QuotaExceededError extends DOMException {
  readonly quota: number | null;
  readonly requested: number | null;
}
declare var QuotaExceededError: DOMExceptionCodes & {
  prototype: QuotaExceededError;
  new (message?: string, options?: { readonly quota?: number; readonly requested?: number }): QuotaExceededError;
};
