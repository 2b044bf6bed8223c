/** The answers of events: a handler's result, or its failure, goes to the host. A body that is still being sent keeps the invocation open. */
import { MAX_REPLY_HEAD_CHARACTERS, MAX_REPLY_HEADERS, Op } from '../../isolate/ops/table.ts';
import { type BodyToSend, goesWhole, sendBody, takeOutgoing } from '../body-out.ts';
import { describeFailure, type FailureCode } from '../failure.ts';
import { RangeErrorCtor, TypeErrorCtor } from '../primordials.ts';
import { bodyLength, isUnusable } from '../web/fetch/body.ts';
import { hasName } from '../web/fetch/header-list.ts';
import { isResponse, type ResponseState, responseState } from '../web/fetch/response.ts';
import { answerSleeping, joinSocket, takeSocket } from '../websockets/upgrade.ts';
import type { WebSocket } from '../websockets/web-socket.ts';
import { type GuestInvocation, notify } from './invocation.ts';

let fetchHandler = '';

/** @param text the beginning of a sentence about what the handler of requests that name no entrypoint gave back */
export function nameFetchHandler(text: string): void {
  fetchHandler = text;
}

export function fail(invocation: GuestInvocation, error: unknown, code: FailureCode): void {
  invocation.failed(describeFailure(error, code));
  invocation.endTask();
}

/** @param className of the object that has answered */
export function answerFetch(invocation: GuestInvocation, result: unknown, className?: string): void {
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

function reply(invocation: GuestInvocation, state: ResponseState): void {
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
function replySocket(invocation: GuestInvocation, state: ResponseState, socket: WebSocket): void {
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
export function replyWith(invocation: GuestInvocation, head: string, body: BodyToSend): void {
  const { id } = invocation;
  if (goesWhole(body)) notify(typeof body === 'string' ? Op.Reply : Op.ReplyBytes, id, 200, head, body);
  else if (notify(Op.ReplyStream, id, 200, head)) send(invocation, body);
  invocation.endTask();
}

/** The head has been sent, so a failure from here on is a failure of the body. */
function send(invocation: GuestInvocation, body: Exclude<BodyToSend, string>): void {
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
async function hold(invocation: GuestInvocation, sent: Promise<void>): Promise<void> {
  invocation.tasks++;
  await sent;
  invocation.endTask();
}

/** Describes a result that is no Response, and says how to return one. */
function noResponse(result: unknown): string {
  if (result === undefined) return 'nothing: a Response is wanted, whatever the request';
  if (result === null) return 'null: return a Response, such as new Response(null, { status: 204 })';
  if (typeof result === 'string') return 'a string: return new Response(text)';
  return `a value of type ${typeof result}: return a Response, such as Response.json(value)`;
}

/** Other events have no answer but that they were handled, and for a queue what becomes of its messages. */
export function answerOther(invocation: GuestInvocation, outcome: string | undefined): void {
  notify(Op.Reply, invocation.id, 200, '', outcome);
  invocation.endTask();
}
