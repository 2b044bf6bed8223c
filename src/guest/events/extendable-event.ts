/** Events of classic scripts. @see https://w3c.github.io/ServiceWorker/#fetchevent-interface */

import { TypeErrorCtor } from '../primordials.ts';
import { DOMException } from '../web/base/dom-exception.ts';
import { defineInterface, requireArguments, toDictionary, toDOMString } from '../web/base/idl.ts';
import { Event } from '../web/events/event.ts';
import { isRequest, type Request } from '../web/fetch/request.ts';
import type { ExecutionContext } from './execution-context.ts';
import type { ScheduledTime } from './scheduled-time.ts';

/** Marks a construction by this bundle. */
const INTERNAL = Symbol('internal');

/** The answer of the listeners: undefined when none has called respondWith. */
export let takeAnswer: (event: FetchEvent) => { readonly answer: unknown } | undefined;

export class ExtendableEvent extends Event {
  #context: ExecutionContext | undefined;

  constructor(type: unknown, init?: unknown, ...internal: unknown[]);
  constructor(type: unknown, init: unknown = undefined, mark?: unknown, context?: ExecutionContext) {
    requireArguments(arguments.length, 1, 'ExtendableEvent constructor');
    super(type, init);
    if (mark === INTERNAL) this.#context = context;
  }

  waitUntil(promise: unknown): void {
    requireArguments(arguments.length, 1, 'waitUntil');
    this.#active().waitUntil(promise);
  }

  passThroughOnException(): void {
    this.#active().passThroughOnException();
  }

  #active(): ExecutionContext {
    if (this.#context === undefined) throw new DOMException('The event is not being handled', 'InvalidStateError');
    return this.#context;
  }
}

defineInterface(ExtendableEvent);

export class FetchEvent extends ExtendableEvent {
  #request: Request;
  #answer: { readonly answer: unknown } | undefined;

  constructor(type: unknown, init: unknown, mark?: unknown, context?: unknown) {
    requireArguments(arguments.length, 2, 'FetchEvent constructor');
    super(type, init, mark, context);
    const request = toDictionary(init, 'FetchEvent constructor: init')?.request;
    if (!isRequest(request)) throw new TypeErrorCtor('FetchEvent constructor: init.request is not a Request');
    this.#request = request;
  }

  get request(): Request {
    return this.#request;
  }

  respondWith(response: unknown): void {
    requireArguments(arguments.length, 1, 'respondWith');
    if (this.#answer !== undefined) {
      throw new DOMException('respondWith() has been called for this event already', 'InvalidStateError');
    }
    this.#answer = { answer: response };
    this.stopImmediatePropagation();
  }

  static {
    takeAnswer = event => event.#answer;
  }
}

defineInterface(FetchEvent);

export class ScheduledEvent extends ExtendableEvent {
  #scheduledTime: number;
  #cron: string;
  #noRetry: (() => void) | undefined;

  constructor(type: unknown, init: unknown, ...internal: unknown[]);
  constructor(type: unknown, init: unknown, mark?: unknown, context?: ExecutionContext, noRetry?: () => void) {
    requireArguments(arguments.length, 2, 'ScheduledEvent constructor');
    super(type, init, mark, context);
    if (mark === INTERNAL) this.#noRetry = noRetry;
    const options = toDictionary(init, 'ScheduledEvent constructor: init');
    this.#scheduledTime = Number(options?.scheduledTime ?? 0);
    this.#cron = toDOMString(options?.cron ?? '');
  }

  get scheduledTime(): number {
    return this.#scheduledTime;
  }

  get cron(): string {
    return this.#cron;
  }

  noRetry(): void {
    this.#noRetry?.();
  }
}

defineInterface(ScheduledEvent);

export function createFetchEvent(request: Request, context: ExecutionContext): FetchEvent {
  return new FetchEvent('fetch', { __proto__: null, request, cancelable: true }, INTERNAL, context);
}

export function createScheduledEvent(time: ScheduledTime, context: ExecutionContext): ScheduledEvent {
  const { cron, scheduledTime, noRetry } = time;
  return new ScheduledEvent('scheduled', { __proto__: null, cron, scheduledTime }, INTERNAL, context, noRetry);
}
