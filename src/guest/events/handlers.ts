/** Where a function's handlers are: in the default export of its main module, or in the listeners of a classic script. */

import { construct, reflectApply, TypeErrorCtor } from '../primordials.ts';
import { isCallable, isObject } from '../web/base/idl.ts';
import { globalTarget, reportException } from '../web/events/error-reporting.ts';
import { type Event, markTrusted } from '../web/events/event.ts';
import { dispatch, hasListener, setExceptionReporter } from '../web/events/event-target.ts';
import type { Request } from '../web/fetch/request.ts';
import type { ExecutionContext } from './execution-context.ts';
import { createFetchEvent, createScheduledEvent, takeAnswer } from './extendable-event.ts';
import type { MessageBatch } from './queue.ts';
import type { ScheduledTime } from './scheduled-time.ts';

/** The argument of an alarm handler. */
export interface AlarmInfo {
  /** Milliseconds since the epoch. */
  readonly scheduledTime: number;
  /** Deliveries before this one. */
  readonly retryCount: number;
  readonly isRetry: boolean;
}

/** Calls of function code. Their answers are the function's: anything, or a promise of it. */
export interface Handlers {
  fetch?(request: Request, env: object, context: ExecutionContext): unknown;
  scheduled?(time: ScheduledTime, env: object, context: ExecutionContext): unknown;
  queue?(batch: MessageBatch, env: object, context: ExecutionContext): unknown;
  tail?(events: readonly object[], env: object, context: ExecutionContext): unknown;
  alarm?(info: AlarmInfo, env: object, context: ExecutionContext): unknown;
}

const KINDS = ['fetch', 'scheduled', 'queue', 'alarm', 'tail'] as const;
type Kind = (typeof KINDS)[number];
type AnyHandler = (event: never, env: object, context: ExecutionContext) => unknown;

/** The handlers of a module: methods of its default export, which is an object, or a class that is constructed for each event. */
export function handlersOfModule(namespace: object): Handlers {
  return handlersOfExport((namespace as { readonly default?: unknown }).default); // a namespace can be read from
}

export function handlersOfExport(exported: unknown): Handlers {
  const handlers: { [kind in Kind]?: AnyHandler } = {};
  if (!isObject(exported)) return handlers;
  for (let i = 0; i < KINDS.length; i++) {
    const kind = KINDS[i];
    if (kind === undefined) continue;
    const handler = methodHandler(exported, kind) ?? classHandler(exported, kind);
    if (handler !== undefined) handlers[kind] = handler;
  }
  return handlers;
}

function methodHandler(target: object, kind: Kind): AnyHandler | undefined {
  const method: unknown = (target as Record<string, unknown>)[kind]; // every object can be read from
  if (!isCallable(method)) return undefined;
  if (kind !== 'scheduled') return (event, env, context) => reflectApply(method, target, [event, env, context]);
  return (time, env, context) => reflectApply(method, target, [controllerOf(time), env, context]);
}

/** A class with the handlers on its prototype, constructed with (context, env). */
function classHandler(exported: object, kind: Kind): AnyHandler | undefined {
  if (typeof exported !== 'function') return undefined;
  const prototype: unknown = exported.prototype;
  if (!isObject(prototype) || !isCallable((prototype as Record<string, unknown>)[kind])) return undefined;
  return (event, env, context) => {
    const instance: object = construct(exported, [context, env]);
    const handler = methodHandler(instance, kind);
    if (handler === undefined) throw new TypeErrorCtor(`The instance of the default export has no method ${kind}`);
    return handler(event, env, context);
  };
}

function controllerOf({ cron, scheduledTime, noRetry }: ScheduledTime): object {
  return { type: 'scheduled', cron, scheduledTime, noRetry };
}

/** The handlers of a classic script: the listeners it has added. */
export function handlersOfScript(): Handlers {
  const handlers: { [kind in Kind]?: AnyHandler } = {};
  if (hasListener(globalTarget, 'fetch')) {
    handlers.fetch = (request: Request, _env, context) => {
      const event = markTrusted(createFetchEvent(request, context));
      const thrown = dispatchCatching(event);
      const taken = takeAnswer(event);
      if (thrown !== undefined) {
        if (taken === undefined) throw thrown.error;
        reportException(thrown.error);
      }
      if (taken === undefined) throw new TypeErrorCtor('No listener of "fetch" called event.respondWith()');
      return taken.answer;
    };
  }
  if (hasListener(globalTarget, 'scheduled')) {
    handlers.scheduled = (time: ScheduledTime, _env, context) => {
      const thrown = dispatchCatching(markTrusted(createScheduledEvent(time, context)));
      if (thrown !== undefined) throw thrown.error;
    };
  }
  return handlers;
}

/** An exception of a listener fails the event, where it would only be reported for others. Answers the first. */
function dispatchCatching(event: Event): { readonly error: unknown } | undefined {
  let thrown: { readonly error: unknown } | undefined;
  setExceptionReporter(error => {
    if (thrown === undefined) thrown = { error };
    else reportException(error);
  });
  try {
    dispatch(globalTarget, event);
  } finally {
    setExceptionReporter(reportException);
  }
  return thrown;
}

/** "fetch,scheduled", for Op.Loaded. */
export function kindsOf(handlers: Handlers): string {
  let kinds = '';
  for (let i = 0; i < KINDS.length; i++) {
    const kind = KINDS[i];
    if (kind !== undefined && handlers[kind] !== undefined) kinds += kinds === '' ? kind : `,${kind}`;
  }
  return kinds;
}
