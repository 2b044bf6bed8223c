/**
 * The joint of the two realms: an event of the host becomes a call of the function's handler, and the handler's result becomes the answer. This code runs for
 * every request. So everything that can be made once is made once, and objects that a handler may never look at are made on first use.
 *
 * Nothing that function code does may escape from here or disturb another invocation: captured intrinsics only.
 */
import {
  BODY_NONE,
  BODY_STREAM,
  Ev,
  MAX_REPLY_HEAD_CHARACTERS,
  MAX_REPLY_HEADERS,
  Op,
} from '../../isolate/ops/table.ts';
import { type BodyToSend, goesWhole, sendBody, takeOutgoing } from '../body-out.ts';
import { onEvent, op, opNumber } from '../bridge.ts';
import { describeFailure, type FailureCode } from '../failure.ts';
import { dropExchange, HostBody } from '../host-body.ts';
import { dropCall } from '../open-calls.ts';
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
import { inspect } from '../web/console/inspect.ts';
import { Body, bodyLength, isUnusable } from '../web/fetch/body.ts';
import { asksForWebSocket } from '../web/fetch/fetch.ts';
import { declaredLength, hasName } from '../web/fetch/header-list.ts';
import { clientGone, createRequest, type Request, RequestState } from '../web/fetch/request.ts';
import { isResponse, type ResponseState, responseState } from '../web/fetch/response.ts';
import { abortSignal } from '../web/scheduling/abort.ts';
import { dropLink } from '../websockets/host-link.ts';
import { answerSleeping, joinSocket, takeSocket } from '../websockets/upgrade.ts';
import type { WebSocket } from '../websockets/web-socket.ts';
import type { GuestCallResult } from './call-result.ts';
import { type ContextOwner, createContext, type ExecutionContext } from './execution-context.ts';
import { type AlarmInfo, type Handlers, kindsOf } from './handlers.ts';
import { batchOutcome, closeBatch, createBatch, type MessageBatch, sayRetries } from './queue.ts';
import type { ScheduledTime } from './scheduled-time.ts';
import { traceItems } from './tail.ts';

const LEVEL_ERROR = 4;

let handlers: Handlers;
let env: object;
let entrypointHandlers: (name: string) => Handlers;
/** Batches of messages are done when their handler is. */
let waitsForHeld = true;
let fetchHandler = '';

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
  fetchHandler = options.fetchHandler;
}

/** One event on its way through the function. */
export class Invocation implements ContextOwner {
  readonly id: number;
  /** Tasks that keep it open: the handler itself, bodies that are being sent, promises given to waitUntil. */
  tasks = 1;
  /** The tasks that are promises given to waitUntil: they continue when the client is gone. */
  #held = 0;
  #isAbandoned = false;
  #isEnded = false;
  #awaitsPipe = false;
  request: RequestState | undefined = undefined;
  /** The handler of its entrypoint, where it has one. */
  handler: Handlers['fetch'] = undefined;
  entrypoint: string | undefined = undefined;
  propsText: string | undefined = undefined;
  /** It has sent objects by reference (rpc/exports.ts). */
  hasExports = false;
  /** The request asks for a WebSocket, whose messages come in place of a body. */
  isUpgrade = false;
  /** For a call: the result that other calls may build on. */
  result: GuestCallResult | undefined = undefined;
  /** Called when the host has ended it. */
  onOver: (() => void) | undefined = undefined;

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

  /** The host sends a body that comes from elsewhere. The client can go meanwhile, which concerns the signal of the request where there is one. */
  awaitPipe(): void {
    if (this.request?.signal === undefined) return;
    this.#awaitsPipe = true;
    this.tasks++;
  }

  piped(): void {
    if (!this.#awaitsPipe) return;
    this.#awaitsPipe = false;
    this.endTask();
  }

  /** Its WebSocket has ended without a close. */
  socketLost(): void {
    this.abandon();
  }

  #release(): void {
    this.endTask();
    if (--this.#held > 0) return;
    this.released();
    if (this.#isAbandoned) this.#end();
  }

  /** Whether a promise of waitUntil has not settled yet. */
  protected get isHeld(): boolean {
    return this.#held > 0;
  }

  #end(): void {
    // The host may have ended it already.
    if (this.staysKnown ? this.#isEnded : !mapDelete(invocations, this.id)) return;
    this.#isEnded = true;
    this.ending();
    this.result?.end();
    if (this.hasExports) endExports(this.id, true);
    notify(Op.Done, this.id);
  }

  waitUntil(promise: unknown): void {
    if (this.tasks === 0) throw new TypeErrorCtor('waitUntil() was called after the end of its event');
    if (!notify(Op.Hold, this.id)) throw new TypeErrorCtor('waitUntil() was called after the client had disconnected');
    this.tasks++;
    this.#held++;
    observe(promise, this);
  }

  /** A promise of waitUntil has settled. */
  settled(): void {
    this.#release();
  }

  /** A promise of waitUntil was rejected, which is logged. */
  waitFailed(error: unknown): void {
    notify(Op.WaitRejected, this.id, describeFailure(error, 'EDGE_HANDLER_THREW'));
  }

  /** The handler has failed. */
  failed(failure: string): void {
    notify(Op.ReplyFailed, this.id, failure);
  }

  /** No promise of waitUntil is left that has not settled. */
  protected released(): void {}

  /** It is known until the host says that it is over. */
  protected get staysKnown(): boolean {
    return false;
  }

  /** The host has closed it. */
  closed(): void {}

  /** The host is about to learn that all of it is over. */
  protected ending(): void {}

  passThroughOnException(): void {
    notify(Op.PassThrough, this.id);
  }
}

/** A cron trigger's: a promise of waitUntil that rejects fails it, as its handler does. */
class ScheduledInvocation extends Invocation {
  #failure: string | undefined = undefined;
  #hasFailed = false;
  #isNoRetry = false;

  override waitFailed(error: unknown): void {
    if (this.#failure === undefined) this.#failure = describeFailure(error, 'EDGE_HANDLER_THREW');
    else super.waitFailed(error);
  }

  override failed(failure: string): void {
    this.#hasFailed = true;
    super.failed(failure);
  }

  noRetry(): void {
    if (!this.#isNoRetry) this.#isNoRetry = notify(Op.NoRetry, this.id);
  }

  protected override ending(): void {
    if (this.#failure !== undefined) {
      notify(this.#hasFailed ? Op.WaitRejected : Op.WaitFailed, this.id, this.#failure);
    }
  }
}

/** A batch's: it is answered when its handler is done and what waitUntil was given, a rejection of which fails it. */
class QueueInvocation extends Invocation {
  readonly #batch: MessageBatch;
  /** The rejection of the first promise of waitUntil that rejected. */
  #heldFailure: { readonly error: unknown } | undefined = undefined;
  #isHandled = false;

  constructor(id: number, batch: MessageBatch) {
    super(id);
    this.#batch = batch;
  }

  override waitFailed(error: unknown): void {
    // The first one of a batch that waits for them is what its handler fails with.
    if (!waitsForHeld || this.#heldFailure !== undefined) super.waitFailed(error);
    else this.#heldFailure = { error };
  }

  override failed(failure: string): void {
    // The host takes no word on a message after the failure.
    sayRetries(this.#batch);
    super.failed(failure);
  }

  /** The handler has returned. */
  handled(): void {
    closeBatch(this.#batch);
    this.#isHandled = true;
    if (!waitsForHeld || !this.isHeld) this.#answer();
  }

  protected override released(): void {
    if (this.#isHandled && waitsForHeld) this.#answer();
  }

  #answer(): void {
    this.#isHandled = false;
    if (waitsForHeld && this.#heldFailure !== undefined) fail(this, this.#heldFailure.error, 'EDGE_HANDLER_THREW');
    else answerOther(this, batchOutcome(this.#batch));
  }
}

const invocations = new MapCtor<number, Invocation>();

let endExports: (invocation: number, mayRun: boolean) => void = () => {};

/** `mayRun`: whether code of the function may run for the invocation. */
export function onExportsEnd(listener: typeof endExports): void {
  endExports = listener;
}

/** The invocation of the turn, so of the code that runs now; undefined at the start of the function and when it is over. */
export function currentInvocation(): Invocation | undefined {
  return mapGet(invocations, opNumber(Op.CurrentInvocation));
}

/** One that is not over. */
export function openInvocation(id: number): Invocation | undefined {
  return mapGet(invocations, id);
}

/** For ops whose failure means that the host has closed the invocation: there is no one left to notify. */
function notify(number: Op, a: number, b?: string | number, c?: string, d?: string | Uint8Array): boolean {
  try {
    op(number, a, b, c, d);
    return true;
  } catch {
    return false;
  }
}

/** A promise of waitUntil: its rejection is logged, and fails the event of a cron trigger, and a batch of messages. */
async function observe(promise: unknown, invocation: Invocation): Promise<void> {
  try {
    await promise;
  } catch (error) {
    logUncaught('waitUntil', error);
    invocation.waitFailed(error);
  }
  invocation.settled();
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

export function fail(invocation: Invocation, error: unknown, code: FailureCode): void {
  invocation.failed(describeFailure(error, code));
  invocation.endTask();
}

/** @param className of the object that has answered */
export function answerFetch(invocation: Invocation, result: unknown, className?: string): void {
  if (!isResponse(result)) {
    const exported = className ?? invocation.entrypoint;
    const handler = exported === undefined ? fetchHandler : `fetch() of the export "${exported}" returned`;
    fail(invocation, new TypeErrorCtor(`${handler} ${noResponse(result)}`), 'EDGE_NO_RESPONSE');
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

/** @see Op.Reply and Op.ReplyFailed for the form of the head */
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
  if (state.webSocket !== null) {
    replySocket(invocation, state, state.webSocket);
    return;
  }
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

/** The answer to a request that asks for a WebSocket: from here on its bodies belong to the socket. */
function replySocket(invocation: Invocation, state: ResponseState, socket: WebSocket): void {
  const { id } = invocation;
  if (!invocation.isUpgrade) {
    throw new TypeErrorCtor(
      'The fetch handler answered with a WebSocket, but the request does not ask for one (Upgrade: websocket), or has come by a way that has none',
    );
  }
  const taken = takeSocket(socket);
  const head = headOf(state);
  invocation.tasks++;
  const isSleeping = answerSleeping(taken, (key, failure) => {
    if (failure === undefined) notify(Op.Reply, id, 101, head, key);
    else notify(Op.ReplyFailed, id, describeFailure(failure.error, 'EDGE_HANDLER_THREW'));
    invocation.endTask();
  });
  if (isSleeping) return;
  invocation.tasks--;
  if (!notify(Op.ReplyStream, id, 101, head)) return;
  const isOurs = joinSocket(taken, id, isLost => {
    if (isLost) invocation.socketLost();
    else invocation.endTask();
  });
  if (isOurs) invocation.tasks++;
}

/** A complete answer, or the head of one whose body follows. `head` is Latin-1. */
export function replyWith(invocation: Invocation, head: string, body: BodyToSend): void {
  const { id } = invocation;
  if (goesWhole(body)) notify(typeof body === 'string' ? Op.Reply : Op.ReplyBytes, id, 200, head, body);
  else if (notify(Op.ReplyStream, id, 200, head)) send(invocation, body);
  invocation.endTask();
}

/** The head has been sent, so a failure from here on is a failure of the body. */
function send(invocation: Invocation, body: Exclude<BodyToSend, string>): void {
  let sent: Promise<void> | undefined;
  try {
    sent = sendBody(body, invocation.id);
  } catch {
    notify(Op.BodyFail, invocation.id, 'The body is no longer there to be sent');
    return;
  }
  if (sent !== undefined) hold(invocation, sent);
  else invocation.awaitPipe();
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

/** Describes a result that is no Response, and says how to return one. */
function noResponse(result: unknown): string {
  if (result === undefined) return 'nothing: a Response is wanted, whatever the request';
  if (result === null) return 'null: return a Response, such as new Response(null, { status: 204 })';
  if (typeof result === 'string') return 'a string: return new Response(text)';
  return `a value of type ${typeof result}: return a Response, such as Response.json(value)`;
}

/** Other events have no answer but that they were handled, and for a queue what becomes of its messages. */
export function answerOther(invocation: Invocation, outcome: string | undefined): void {
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
  const request = requestOf(invocation, head, bodySize);
  run(invocation, invocation.handler ?? fetchOf(handlers), request, answerFetch);
});

/** The request of an event, whose head may have props, and the entrypoint that it is for. */
export function requestOf(invocation: Invocation, head: string, bodySize: number): Request {
  const { id } = invocation;
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
    if (propsEnd !== urlEnd) takeProps(invocation, stringSlice(head, urlEnd + 2, propsEnd));
    if (propsEnd < head.length) {
      state.headText = stringSlice(head, propsEnd + 1);
      state.clientText = state.headText;
    }
  }
  state.redirect = 'manual';
  state.isImmutable = true;
  // A GET has no body: what follows it are the messages of a socket, once there is one.
  if (bodySize === BODY_STREAM && asksForWebSocket(state)) invocation.isUpgrade = true;
  else if (bodySize !== BODY_NONE) {
    const body = new HostBody(id, bodySize);
    if (bodySize === BODY_STREAM) body.expectedSize = declaredLength(state.headerPairs());
    state.body = new Body(body);
  }
  return createRequest(state);
}

/** The props of an event; before their brace may stand the name of the entrypoint that it is for. */
function takeProps(invocation: Invocation, text: string): void {
  const at = stringIndexOf(text, '{');
  invocation.propsText = stringSlice(text, at);
  if (at <= 0) return;
  const name = stringSlice(text, 0, at);
  invocation.entrypoint = name;
  // Found when it is called, since an entrypoint that is not there fails the invocation.
  invocation.handler = (request, env, context) => fetchOf(entrypointHandlers(name))(request, env, context);
}

onEvent(Ev.Scheduled, (id: number, cron: string, scheduledTime: number) => {
  const invocation = new ScheduledInvocation(id);
  const time: ScheduledTime = { cron, scheduledTime, noRetry: () => invocation.noRetry() };
  run(invocation, handlers.scheduled ?? missing('scheduled'), time, invocation => answerOther(invocation, undefined));
});

onEvent(Ev.Queue, (id: number, json: string) => {
  const batch = createBatch(json, id);
  const invocation = new QueueInvocation(id, batch);
  run(invocation, handlers.queue ?? missing('queue'), batch, () => invocation.handled());
});

onEvent(Ev.Alarm, (id: number, scheduledTime: number, retryCount: number) => {
  const info: AlarmInfo = { scheduledTime, retryCount, isRetry: retryCount > 0 };
  run(new Invocation(id), handlers.alarm ?? missing('alarm'), info, invocation => answerOther(invocation, undefined));
});

onEvent(Ev.Tail, (id: number, json: string) => {
  const invocation = new Invocation(id);
  run(invocation, handlers.tail ?? missing('tail'), traceItems(json), done => answerOther(done, undefined));
});

onEvent(Ev.ClientGone, (id: number) => {
  const request = mapGet(invocations, id)?.request;
  if (request === undefined) return;
  request.isClientGone = true;
  if (request.signal !== undefined) abortSignal(request.signal, clientGone());
});

onEvent(Ev.Abort, (id: number) => mapGet(invocations, id)?.abandon());

onEvent(Ev.Piped, (id: number) => mapGet(invocations, id)?.piped());

// None of the function's code runs for an invocation that is over, so promises that wait for it are not settled.
onEvent(Ev.Over, (id: number, exchanges: string) => {
  const invocation = mapGet(invocations, id);
  if (invocation?.hasExports === true) endExports(id, false);
  mapDelete(invocations, id);
  invocation?.result?.end();
  invocation?.closed();
  const ids = stringSplit(exchanges, ',');
  for (let i = 0; i < ids.length; i++) {
    const exchange = +(ids[i] ?? 0);
    dropExchange(exchange);
    dropLink(exchange);
    dropCall(exchange);
  }
  invocation?.onOver?.();
});
