/** Requests of functions to functions: from the arguments of the call to what an invocation begins with, and back. */

import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import { type Hop, isRedirect, nextHop } from '../../bindings/egress/redirect.js';
import { type CheckedHead, checkHead } from '../../bindings/egress/request-head.js';
import type { ServiceBody, ServiceCall, ServiceReply } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { checkRequestHead, type RequestLimits } from '../../quotas/requests/request-checks.js';
import { isObject } from '../../quotas/schema/describe.js';
import { handTo } from '../hibernation/handed-sockets.js';
import { headOfRaw, parseResponseHead, type ResponseHead } from '../ingress/http-head.js';
import type { CalleeAnswer } from './call-sink.js';
import { isCallingOrigin } from './calling-origin.js';

/** Sends one request to the function: its head, as an isolate takes it, and its body; and the request that both were made from. */
export type SendHop = (head: string, body: ServiceBody | null, hop: Hop) => Promise<CalleeAnswer>;

/**
 * Redirects are followed to the same function, whatever host they name.
 *
 * @param lead replaces the props in the head: the entrypoint and the props of the binding
 * @throws TypeError for an invalid request, and the errors of `checkRequestHead`
 */
export async function serviceFetch(
  { args, body, work, origin }: ServiceCall,
  lead: string,
  limits: RequestLimits,
  send: SendHop,
): Promise<ServiceReply> {
  const { redirect, ...head } = checkHead(args);
  // Left out by the check, as what belongs to one connection: here it belongs to the call.
  const isUpgrade = head.method === 'GET' && isUpgradeHead(args);
  let hop: Hop = { ...head, headers: isUpgrade ? [...head.headers, 'upgrade', 'websocket'] : head.headers, body };
  for (let count = 0; ; count++) {
    if (count > 0) work.countRedirect(count);
    const answer = await send(headOf(hop, lead, limits), hop.body, hop);
    const parsed = parse(answer.head);
    const next = follow(redirect, hop, answer.status, parsed);
    if (answer.socket !== undefined) {
      const { head: known } = responseOf(hop, answer, parsed, count > 0);
      if (!isUpgrade || !isCallingOrigin(origin)) {
        answer.socket.drop();
        throw new EdgeError('EDGE_PROTOCOL', 'The function has answered with a WebSocket that was not asked for');
      }
      return { head: { ...Object(known), w: handTo(origin.peer, answer.socket) } };
    }
    if (answer.status === 101) return { ...responseOf(hop, answer, parsed, count > 0), isOpen: true };
    if (next === undefined) return responseOf(hop, answer, parsed, count > 0);
    cancelBody(answer.body);
    hop = next;
  }
}

/** The caller asks for a WebSocket, and the bodies of its call become the bodies of one. */
export function isUpgradeHead(args: unknown): boolean {
  if (!isObject(args) || !Array.isArray(args.headers)) return false;
  const at = args.headers.findIndex((name, index) => index % 2 === 0 && String(name).toLowerCase() === 'upgrade');
  return at >= 0 && String(args.headers[at + 1]).toLowerCase() === 'websocket';
}

function headOf({ method, url, headers, contentLength }: Hop, lead: string, limits: RequestLimits): string {
  const length = contentLength === undefined ? [] : ['content-length', `${contentLength}`];
  const all = ['host', url.host, ...headers, ...length];
  checkRequestHead({ method, url: url.href, headers: all }, limits);
  return headOfRaw(method, `${url.href}\n\n${lead}`, all);
}

function parse(head: string): ResponseHead {
  try {
    return parseResponseHead(head);
  } catch (error) {
    const message = `The response of the function cannot be passed on: ${String(error)}`;
    throw new EdgeError('EDGE_PROTOCOL', message, { cause: error });
  }
}

function follow(mode: CheckedHead['redirect'], hop: Hop, status: number, { headers }: ResponseHead): Hop | undefined {
  if (mode === 'manual' || !isRedirect(status)) return undefined;
  if (mode === 'follow') return nextHop(hop, { status, headers });
  throw new EdgeError(
    'EDGE_EGRESS_FAILED',
    `Cannot fetch ${hop.url.origin}: it answered with a redirect, and the redirect mode is error`,
  );
}

function responseOf(
  hop: Hop,
  answer: CalleeAnswer,
  { statusText, headers }: ResponseHead,
  redirected: boolean,
): ServiceReply {
  const { status, body } = answer;
  const head = { status, statusText, headers, url: hop.url.href, redirected };
  if (hop.method !== 'HEAD') return { head, body };
  cancelBody(body);
  return { head };
}
