/**
 * The joint of the two realms: an event of the host becomes a call of the function's handler, and the handler's result becomes the answer. This code runs for
 * every request. So everything that can be made once is made once, and objects that a handler may never look at are made on first use.
 *
 * Nothing that function code does may escape from here or disturb another invocation: captured intrinsics only.
 */
import { Ev } from '../../isolate/ops/table.ts';
import { onEvent } from '../bridge.ts';
import { TypeErrorCtor } from '../primordials.ts';
import { isResponse } from '../web/fetch/response.ts';
import { answerFetch, answerOther, fail, nameFetchHandler } from './answers.ts';
import { requestOf } from './event-request.ts';
import { createContext, type ExecutionContext } from './execution-context.ts';
import { type AlarmInfo, type Handlers, kindsOf } from './handlers.ts';
import { GuestInvocation } from './invocation.ts';
import { createBatch } from './queue.ts';
import { QueueInvocation } from './queue-invocation.ts';
import { ScheduledInvocation } from './scheduled-invocation.ts';
import type { ScheduledTime } from './scheduled-time.ts';
import { tailOf, traceItems } from './tail.ts';

let handlers: Handlers;
let env: object;
let entrypointHandlers: (name: string) => Handlers;
/** Batches of messages are done when their handler is. */
let waitsForHeld = true;

/** From now on events reach these handlers. */
export function serve(
  found: Handlers,
  environment: object,
  ofEntrypoint: typeof entrypointHandlers,
  options: {
    readonly waitsForHeld: boolean;
    /** The beginning of a sentence about what the handler of requests that name no entrypoint gave back. */
    readonly fetchHandler: string;
  },
): void {
  handlers = found;
  entrypointHandlers = ofEntrypoint;
  env = environment;
  waitsForHeld = options.waitsForHeld;
  nameFetchHandler(options.fetchHandler);
}

/** Calls a handler; its answer, or the promise of it, goes to `answer`. */
function run<E>(invocation: GuestInvocation, kind: Kind<E>, event: E, answer: Answer): void {
  let result: unknown;
  try {
    result = kind(event, env, createContext(invocation));
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
    return;
  }
  // An answer that is there already costs no promise.
  if (isResponse(result)) answer(invocation, result);
  else settle(invocation, result, answer);
}

type Kind<E> = (event: E, env: object, context: ExecutionContext) => unknown;
type Answer = (invocation: GuestInvocation, result: unknown) => void;

async function settle(invocation: GuestInvocation, promise: unknown, answer: Answer): Promise<void> {
  let result: unknown;
  try {
    result = await promise;
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
    return;
  }
  answer(invocation, result);
}

/** A handler that fails, in place of one that is not there. `found` has the handlers of the function, or of an entrypoint. */
function missing(kind: keyof Handlers, found: Handlers = handlers): () => never {
  return () => {
    const kinds = kindsOf(found);
    throw new TypeErrorCtor(
      `The function has no handler ${kind}(), ${kinds === '' ? 'and no other' : `only ${kinds}`}`,
    );
  };
}

function fetchOf(found: Handlers): NonNullable<Handlers['fetch']> {
  return found.fetch ?? missing('fetch', found);
}

/** An entrypoint is found when it is called: one that is not there fails the invocation. */
function fetchOfEntrypoint(name: string): NonNullable<Handlers['fetch']> {
  return (request, env, context) => fetchOf(entrypointHandlers(name))(request, env, context);
}

onEvent(Ev.Fetch, (id: number, head: string, bodySize: number) => {
  const invocation = new GuestInvocation(id);
  const request = requestOf(invocation, head, bodySize);
  const { entrypoint } = invocation;
  run(invocation, entrypoint === undefined ? fetchOf(handlers) : fetchOfEntrypoint(entrypoint), request, answerFetch);
});

onEvent(Ev.Scheduled, (id: number, cron: string, scheduledTime: number) => {
  const invocation = new ScheduledInvocation(id);
  const time: ScheduledTime = { cron, scheduledTime, noRetry: () => invocation.noRetry() };
  run(invocation, handlers.scheduled ?? missing('scheduled'), time, invocation => answerOther(invocation, undefined));
});

onEvent(Ev.Queue, (id: number, json: string) => {
  const batch = createBatch(json, id);
  const invocation = new QueueInvocation(id, batch, waitsForHeld);
  run(invocation, handlers.queue ?? missing('queue'), batch, () => invocation.handled());
});

onEvent(Ev.Alarm, (id: number, scheduledTime: number, retryCount: number) => {
  const info: AlarmInfo = { scheduledTime, retryCount, isRetry: retryCount > 0 };
  run(new GuestInvocation(id), handlers.alarm ?? missing('alarm'), info, invocation =>
    answerOther(invocation, undefined),
  );
});

onEvent(Ev.Tail, (id: number, text: string) => {
  const invocation = new GuestInvocation(id);
  const { entrypoint, props, json } = tailOf(text);
  invocation.propsText = props;
  const tail = entrypoint === undefined ? (handlers.tail ?? missing('tail')) : tailOfEntrypoint(entrypoint);
  run(invocation, tail, traceItems(json), done => answerOther(done, undefined));
});

/** An entrypoint is found when it is called, like the ones of requests. */
function tailOfEntrypoint(name: string): NonNullable<Handlers['tail']> {
  return (events, env, context) => {
    const found = entrypointHandlers(name);
    return (found.tail ?? missing('tail', found))(events, env, context);
  };
}
