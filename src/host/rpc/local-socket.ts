/**
 * A function opens a WebSocket to a custom domain that another function of this host serves: the request goes through the router, as a fetch of it does, and
 * the messages go from one isolate to the other.
 */
import { Readable } from 'node:stream';
import type { HopAnswer, HopRequest } from '../../bindings/egress/transport.js';
import type { FetchChain, ServiceBody } from '../../bindings/service.js';
import { checkedRecords } from '../../bindings/websocket/checked-records.js';
import { EdgeError } from '../../quotas/errors.js';
import type { RouteMode } from '../../quotas/requests/admission.js';
import { checkRequestHead } from '../../quotas/requests/request-checks.js';
import { headOfRaw, pairsOf, parseResponseHead } from '../ingress/http-head.js';
import { errorAnswer } from '../ingress/local-fetch.js';
import { checkAdmission } from '../invocation/failures/admission-refusal.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import type { CalleeAnswer } from './call-sink.js';
import { run, StartOfCall } from './run-call.js';

/** Whether it asks for a WebSocket, and its body carries the messages of one. */
export function asksForSocket({ method, headers, body }: HopRequest): boolean {
  if (method !== 'GET' || body === null || body instanceof Uint8Array) return false;
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === 'upgrade');
  return at >= 0 && headers[at + 1]?.toLowerCase() === 'websocket';
}

export async function localSocket(
  route: { readonly target: FunctionRunner; readonly mode: RouteMode },
  request: HopRequest,
  chain: FetchChain,
): Promise<HopAnswer> {
  const { signal, headers, url } = request;
  const all = ['host', url.host, ...headers];
  const { webSocketMessageBytes } = route.target.context.limits;
  let answer: CalleeAnswer;
  try {
    answer = await ask(route.target, route.mode, request, all, chain);
  } catch (error) {
    signal.throwIfAborted();
    return errorAnswer(error, all, signal);
  }
  const { status, body, socket } = answer;
  if (socket !== undefined) {
    socket.drop();
    const text = `Cannot open a WebSocket to ${url.host}: a stateful object of this host has accepted it; bind its class, or the function as a service`;
    throw new EdgeError('EDGE_NOT_SUPPORTED', text);
  }
  const { statusText, headers: answered } = parseResponseHead(answer.head);
  const messages = status === 101 && body !== null ? checkedRecords(body, webSocketMessageBytes) : body;
  return { status, statusText, headers: answered, body: messages && streamOf(messages), isEncoded: true };
}

async function ask(
  runner: FunctionRunner,
  mode: RouteMode,
  { method, url, body, signal }: HopRequest,
  headers: readonly string[],
  chain: FetchChain,
): Promise<CalleeAnswer> {
  const { context } = runner;
  const { limits } = context;
  checkRequestHead({ method, url: url.href, headers: pairsOf(headers) }, limits);
  await checkAdmission(context, mode);
  const head = headOfRaw(method, url.href, headers);
  const start = StartOfCall.fetch(head, undefined, chain);
  start.isUpgrade = true;
  return run(runner, start, body === null ? null : checkedRecords(body, limits.webSocketMessageBytes), signal);
}

/** Nothing is read before it is asked for: waiting bytes count in the isolate that has sent them. */
function streamOf(body: ServiceBody): Readable {
  return Readable.from(body instanceof Uint8Array ? [body] : body, { objectMode: false, highWaterMark: 1 });
}
