/**
 * The joint of the two realms: an event of the host becomes a call of the function's handler, and what the handler gives back
 * becomes the answer. What happens here happens for every request, so everything that can be made once is made once, and what a
 * handler may never look at is made when it does.
 *
 * Nothing that function code does may escape from here or disturb another invocation: captured intrinsics only.
 */
import { BODY_NONE, Ev, MAX_REPLY_HEAD_CHARACTERS, MAX_REPLY_HEADERS, Op } from '../../isolate/ops/table.ts';
import { goesWhole, type OutgoingBody, sendBody, takeOutgoing } from '../body-out.ts';
import { onEvent, op } from '../bridge.ts';
import { dropCall } from '../calls.ts';
import { describeFailure, type FailureCode } from '../failure.ts';
import { dropExchange, HostBody } from '../host-body.ts';
import {
  MapCtor,
  mapDelete,
  mapGet,
  mapSet,
  RangeErrorCtor,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringSplit,
  TypeErrorCtor,
} from '../primordials.ts';
import { DOMException } from '../web/base/dom-exception.ts';
import { inspect } from '../web/console/inspect.ts';
import { Body, bodyLength, isUnusable } from '../web/fetch/body.ts';
import { hasName } from '../web/fetch/header-list.ts';
import { createRequest, RequestState } from '../web/fetch/request.ts';
import { isResponse, type ResponseState, responseState } from '../web/fetch/response.ts';
import { abortSignal } from '../web/scheduling/abort.ts';
import { type ContextOwner, createContext, type ExecutionContext } from './execution-context.ts';
import type { AlarmInfo, Handlers, ScheduledTime } from './handlers.ts';
import { batchOutcome, createBatch } from './queue.ts';

const LEVEL_ERROR = 4;

let handlers: Handlers;
let env: object;

/** From now on events reach these handlers. */
export function serve(found: Handlers, environment: object): void {
  handlers = found;
  env = environment;
}

/** One event on its way through the function. */
export class Invocation implements ContextOwner {
  readonly id: number;
  /** Tasks that keep it open: the handler itself, bodies that are being sent, promises given to waitUntil. */
  tasks = 1;
  /** Those of the tasks that are promises given to waitUntil: they go on when the client is gone. */
  #held = 0;
  #isAbandoned = false;
  request: RequestState | undefined = undefined;
  propsText: string | undefined = undefined;

  constructor(id: number) {
    this.id = id;
    mapSet(invocations, id, this);
  }

  endTask(): void {
    if (--this.tasks === 0) this.#end();
  }

  /** The client is gone: what waitUntil does not hold is over. Listeners of the signal had the chance to hold something. */
  abandon(): void {
    this.#isAbandoned = true;
    if (this.#held === 0) this.#end();
    else notify(Op.Abandon, this.id);
  }

  #release(): void {
    this.endTask();
    if (--this.#held === 0 && this.#isAbandoned) this.#end();
  }

  #end(): void {
    // The host may have ended it already.
    if (!mapDelete(invocations, this.id)) return;
    notify(Op.Done, this.id);
  }

  waitUntil(promise: unknown): void {
    if (this.tasks === 0) throw new TypeErrorCtor('waitUntil() was called after the end of its event');
    if (!notify(Op.Hold, this.id)) throw new TypeErrorCtor('waitUntil() was called after the client had disconnected');
    this.tasks++;
    this.#held++;
    observe(promise, () => this.#release());
  }

  passThroughOnException(): void {
    notify(Op.PassThrough, this.id);
  }
}

const invocations = new MapCtor<number, Invocation>();

/** For ops whose failure means that the host has closed the invocation: there is no one left to notify. */
function notify(number: Op, a: number, b?: string | number, c?: string, d?: string | Uint8Array): boolean {
  try {
    op(number, a, b, c, d);
    return true;
  } catch {
    return false;
  }
}

/** A promise of waitUntil: its rejection is logged, and nothing else comes of it. */
async function observe(promise: unknown, onSettled: () => void): Promise<void> {
  try {
    await promise;
  } catch (error) {
    logUncaught('waitUntil', error);
  }
  onSettled();
}

function logUncaught(where: string, error: unknown): void {
  let text: string;
  try {
    text = inspect(error);
  } catch {
    text = 'an error that cannot be described';
  }
  try {
    op(Op.Log, LEVEL_ERROR, `Uncaught (in ${where}) ${text}`);
  } catch {
    // There is no one left to notify.
  }
}

/** Calls a handler; its answer, or the promise of it, goes to `answer`. */
function run<E>(invocation: Invocation, kind: Kind<E>, event: E, answer: Answer): void {
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
type Answer = (invocation: Invocation, result: unknown) => void;

async function settle(invocation: Invocation, promise: unknown, answer: Answer): Promise<void> {
  let result: unknown;
  try {
    result = await promise;
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
    return;
  }
  answer(invocation, result);
}

function fail(invocation: Invocation, error: unknown, code: FailureCode): void {
  notify(Op.ReplyFailed, invocation.id, describeFailure(error, code));
  invocation.endTask();
}

function answerFetch(invocation: Invocation, result: unknown): void {
  if (!isResponse(result)) {
    const given = result === undefined ? 'undefined' : result === null ? 'null' : `a value of type ${typeof result}`;
    fail(
      invocation,
      new TypeErrorCtor(`The fetch handler must answer with a Response, it answered with ${given}`),
      'EDGE_NO_RESPONSE',
    );
    return;
  }
  try {
    reply(invocation, responseState(result));
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
    return;
  }
  invocation.endTask();
}

/** @see Op.Reply and its like for the form of the head */
function headOf(state: ResponseState): string {
  const headers = state.headerText();
  const head = headers === '' ? state.statusText : `${state.statusText}\n${headers}`;
  if (head.length > MIN_OF_MANY_HEADERS) checkHead(state, head);
  return head;
}

/** Shorter, and it cannot have too many headers: each has a name, and a line break behind its name and its value. */
const MIN_OF_MANY_HEADERS = MAX_REPLY_HEADERS * 3;
/** For a length that may be added. */
const HEAD_RESERVE = 64;

function checkHead(state: ResponseState, head: string): void {
  const most = MAX_REPLY_HEAD_CHARACTERS - HEAD_RESERVE;
  const count = state.headerPairs().length / 2;
  if (head.length <= most && count < MAX_REPLY_HEADERS) return;
  throw new RangeErrorCtor(
    `The fetch handler answered with ${count} headers, ${head.length} bytes: at most ${MAX_REPLY_HEADERS - 1} headers and ${most} bytes are sent`,
  );
}

function reply(invocation: Invocation, state: ResponseState): void {
  const { id } = invocation;
  const { body, status } = state;
  if (state.type === 'error') throw new TypeErrorCtor('The fetch handler answered with Response.error()');
  if (body === null) {
    notify(Op.Reply, id, status, headOf(state));
    return;
  }
  if (isUnusable(body)) {
    throw new TypeErrorCtor(
      'The fetch handler answered with a Response whose body has been read already, or is locked',
    );
  }
  const outgoing = takeOutgoing(body);
  if (goesWhole(outgoing)) {
    notify(typeof outgoing === 'string' ? Op.Reply : Op.ReplyBytes, id, status, headOf(state), outgoing);
  } else if (notify(Op.ReplyStream, id, status, headWithLength(state, bodyLength(body)))) {
    send(invocation, outgoing);
  }
}

/** The head has been sent, so what goes wrong now is a failure of the body. */
function send(invocation: Invocation, body: Exclude<OutgoingBody, string>): void {
  let sent: Promise<void> | undefined;
  try {
    sent = sendBody(body, invocation.id);
  } catch {
    notify(Op.BodyFail, invocation.id, 'The body is no longer there to be sent');
  }
  if (sent !== undefined) hold(invocation, sent);
}

/** The length of a body that travels as a stream, for those who want it beforehand. */
function headWithLength(state: ResponseState, length: number | undefined): string {
  const head = headOf(state);
  return length === undefined || hasName(state.headerPairs(), 'content-length')
    ? head
    : `${head}\ncontent-length\n${length}`;
}

/** Keeps the invocation open until a body has been sent. */
async function hold(invocation: Invocation, sent: Promise<void>): Promise<void> {
  invocation.tasks++;
  await sent;
  invocation.endTask();
}

function missing(): never {
  throw new TypeErrorCtor('The function has no handler for this kind of event');
}

/** Other events have no answer but that they were handled, and for a queue what becomes of its messages. */
function answerOther(invocation: Invocation, outcome: string | undefined): void {
  notify(Op.Reply, invocation.id, 200, '', outcome);
  invocation.endTask();
}

const LINE_FEED = 10;

function indexOfLineEnd(text: string, from: number): number {
  const at = stringIndexOf(text, '\n', from);
  return at < 0 ? text.length : at;
}

onEvent(Ev.Fetch, (id: number, head: string, bodySize: number) => {
  const invocation = new Invocation(id);
  const state = new RequestState();
  invocation.request = state;
  state.invocation = id;
  const methodEnd = stringIndexOf(head, '\n');
  const urlEnd = stringIndexOf(head, '\n', methodEnd + 1);
  state.method = stringSlice(head, 0, methodEnd);
  if (urlEnd < 0) state.url = stringSlice(head, methodEnd + 1);
  else {
    state.url = stringSlice(head, methodEnd + 1, urlEnd);
    // A pair without a name, which no client can send, has the props of the event.
    const propsEnd = stringCharCodeAt(head, urlEnd + 1) === LINE_FEED ? indexOfLineEnd(head, urlEnd + 2) : urlEnd;
    if (propsEnd !== urlEnd) invocation.propsText = stringSlice(head, urlEnd + 2, propsEnd);
    if (propsEnd < head.length) {
      state.headText = stringSlice(head, propsEnd + 1);
      state.clientText = state.headText;
    }
  }
  state.redirect = 'manual';
  state.isImmutable = true;
  if (bodySize !== BODY_NONE) state.body = new Body(new HostBody(id, bodySize));
  run(invocation, handlers.fetch ?? missing, createRequest(state), answerFetch);
});

onEvent(Ev.Scheduled, (id: number, cron: string, scheduledTime: number) => {
  const time: ScheduledTime = { cron, scheduledTime };
  run(new Invocation(id), handlers.scheduled ?? missing, time, invocation => answerOther(invocation, undefined));
});

onEvent(Ev.Queue, (id: number, json: string) => {
  const batch = createBatch(json);
  run(new Invocation(id), handlers.queue ?? missing, batch, invocation => answerOther(invocation, batchOutcome(batch)));
});

onEvent(Ev.Alarm, (id: number, scheduledTime: number, retryCount: number) => {
  const info: AlarmInfo = { scheduledTime, retryCount, isRetry: retryCount > 0 };
  run(new Invocation(id), handlers.alarm ?? missing, info, invocation => answerOther(invocation, undefined));
});

onEvent(Ev.Abort, (id: number) => {
  const invocation = mapGet(invocations, id);
  const signal = invocation?.request?.signal;
  if (signal !== undefined) abortSignal(signal, new DOMException('The client has disconnected', 'AbortError'));
  invocation?.abandon();
});

// None of the function's code runs for an invocation that is over, so promises that wait for it are not settled.
onEvent(Ev.Over, (id: number, exchanges: string) => {
  mapDelete(invocations, id);
  const ids = stringSplit(exchanges, ',');
  for (let i = 0; i < ids.length; i++) {
    const exchange = +(ids[i] ?? 0);
    dropExchange(exchange);
    dropCall(exchange);
  }
});
