/** Event and the events without behaviour of their own. @see https://dom.spec.whatwg.org/#interface-event */
import { defineProperty, objectCreate, TypeErrorCtor } from '../../primordials.ts';
import { monotonicNow } from '../base/clock.ts';
import { defineConstants, defineInterface, requireArguments, toDictionary, toDOMString, toLong } from '../base/idl.ts';

/** The state of an event that dispatching changes; its class keeps it private. */
export interface EventState {
  target: object | null;
  currentTarget: object | null;
  phase: number;
  isDispatching: boolean;
  isInitialized: boolean;
  isTrusted: boolean;
  isCanceled: boolean;
  isPropagationStopped: boolean;
  isImmediateStopped: boolean;
  isInPassiveListener: boolean;
}

const NONE = 0;
export const AT_TARGET = 2;

export let eventState: (event: Event) => EventState;
export let isEvent: (value: unknown) => value is Event;
let isTrustedDescriptor: PropertyDescriptor;

export class Event {
  #type: string;
  #bubbles: boolean;
  #cancelable: boolean;
  #composed: boolean;
  readonly #timeStamp: number;
  readonly #state: EventState = {
    target: null,
    currentTarget: null,
    phase: NONE,
    isDispatching: false,
    isInitialized: true,
    isTrusted: false,
    isCanceled: false,
    isPropagationStopped: false,
    isImmediateStopped: false,
    isInPassiveListener: false,
  };

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'Event constructor');
    this.#type = toDOMString(type);
    const options = toDictionary(init, 'The init of the event');
    this.#bubbles = !!options?.bubbles;
    this.#cancelable = !!options?.cancelable;
    this.#composed = !!options?.composed;
    this.#timeStamp = monotonicNow();
    defineProperty(this, 'isTrusted', isTrustedDescriptor);
  }

  get type(): string {
    return this.#type;
  }

  get target(): object | null {
    return this.#state.target;
  }

  get srcElement(): object | null {
    return this.#state.target;
  }

  get currentTarget(): object | null {
    return this.#state.currentTarget;
  }

  composedPath(): object[] {
    const { currentTarget } = this.#state;
    return currentTarget === null ? [] : [currentTarget];
  }

  get eventPhase(): number {
    return this.#state.phase;
  }

  stopPropagation(): void {
    this.#state.isPropagationStopped = true;
  }

  get cancelBubble(): boolean {
    return this.#state.isPropagationStopped;
  }

  set cancelBubble(value: unknown) {
    if (value) this.#state.isPropagationStopped = true;
  }

  stopImmediatePropagation(): void {
    this.#state.isPropagationStopped = true;
    this.#state.isImmediateStopped = true;
  }

  get bubbles(): boolean {
    return this.#bubbles;
  }

  get cancelable(): boolean {
    return this.#cancelable;
  }

  get returnValue(): boolean {
    return !this.#state.isCanceled;
  }

  set returnValue(value: unknown) {
    if (!value) this.preventDefault();
  }

  preventDefault(): void {
    if (this.#cancelable && !this.#state.isInPassiveListener) this.#state.isCanceled = true;
  }

  get defaultPrevented(): boolean {
    return this.#state.isCanceled;
  }

  get composed(): boolean {
    return this.#composed;
  }

  get timeStamp(): number {
    return this.#timeStamp;
  }

  initEvent(type: unknown, bubbles: unknown = false, cancelable: unknown = false): void {
    requireArguments(arguments.length, 1, 'initEvent');
    const state = this.#state;
    const text = toDOMString(type);
    if (state.isDispatching) return;
    state.isInitialized = true;
    state.isPropagationStopped = false;
    state.isImmediateStopped = false;
    state.isCanceled = false;
    state.isTrusted = false;
    state.target = null;
    this.#type = text;
    this.#bubbles = !!bubbles;
    this.#cancelable = !!cancelable;
  }

  static {
    eventState = event => event.#state;
    isEvent = (value): value is Event => typeof value === 'object' && value !== null && #state in value;
    // [LegacyUnforgeable]: an own accessor of each event; one pair of functions for all.
    const accessor = {
      get isTrusted(): boolean {
        return isEvent(this) && this.#state.isTrusted;
      },
    };
    isTrustedDescriptor = {
      __proto__: null,
      get: Object.getOwnPropertyDescriptor(accessor, 'isTrusted')?.get,
      enumerable: true,
    } as PropertyDescriptor;
  }
}

defineConstants(Event, { NONE, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 });
defineInterface(Event);

/** An event that the runtime itself fires. */
export function createTrustedEvent(type: string, init?: { bubbles?: boolean; cancelable?: boolean }): Event {
  return markTrusted(new Event(type, init));
}

export function markTrusted<E extends Event>(event: E): E {
  eventState(event).isTrusted = true;
  return event;
}

/** @see https://dom.spec.whatwg.org/#interface-customevent */
export class CustomEvent extends Event {
  #detail: unknown;

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'CustomEvent constructor');
    super(type, init);
    const detail = toDictionary(init, 'The init of the event')?.detail;
    this.#detail = detail === undefined ? null : detail;
  }

  get detail(): unknown {
    return this.#detail;
  }

  initCustomEvent(type: unknown, bubbles: unknown = false, cancelable: unknown = false, detail: unknown = null): void {
    requireArguments(arguments.length, 1, 'initCustomEvent');
    if (eventState(this).isDispatching) return;
    this.initEvent(type, bubbles, cancelable);
    this.#detail = detail;
  }
}

defineInterface(CustomEvent);

/** @see https://html.spec.whatwg.org/multipage/webappapis.html#the-errorevent-interface */
export class ErrorEvent extends Event {
  readonly #message: string;
  readonly #filename: string;
  readonly #lineno: number;
  readonly #colno: number;
  readonly #error: unknown;

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'ErrorEvent constructor');
    super(type, init);
    const options = toDictionary(init, 'The init of the event') ?? objectCreate(null);
    const { message = '', filename = '', lineno = 0, colno = 0, error } = options;
    this.#message = toDOMString(message);
    this.#filename = toDOMString(filename);
    this.#lineno = toLong(lineno) >>> 0;
    this.#colno = toLong(colno) >>> 0;
    this.#error = error;
  }

  get message(): string {
    return this.#message;
  }

  get filename(): string {
    return this.#filename;
  }

  get lineno(): number {
    return this.#lineno;
  }

  get colno(): number {
    return this.#colno;
  }

  get error(): unknown {
    return this.#error;
  }
}

defineInterface(ErrorEvent);

/** @see https://html.spec.whatwg.org/multipage/webappapis.html#promiserejectionevent */
export class PromiseRejectionEvent extends Event {
  readonly #promise: object;
  readonly #reason: unknown;

  constructor(type: unknown, init: unknown) {
    requireArguments(arguments.length, 2, 'PromiseRejectionEvent constructor');
    super(type, init);
    const options = toDictionary(init, 'The init of the event');
    const promise = options?.promise;
    if (typeof promise !== 'object' || promise === null) throw new TypeErrorCtor('The init has no promise');
    this.#promise = promise;
    this.#reason = options?.reason;
  }

  get promise(): object {
    return this.#promise;
  }

  get reason(): unknown {
    return this.#reason;
  }
}

defineInterface(PromiseRejectionEvent);
