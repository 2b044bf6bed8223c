/** Outgoing WebSockets of one function, as its isolates call for them. */
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { FunctionContext } from '../binding.js';
import { cancelBody } from '../bodies/cancel-body.js';
import { chargedBody } from '../bodies/charged-body.js';
import { bodyStream } from '../egress/body-stream.js';
import { isBadPort } from '../egress/redirect.js';
import { type CheckedHead, checkHead, withoutHeaders } from '../egress/request-head.js';
import type { Service, ServiceCall, ServiceReply } from '../service.js';
import { answeredHeaders, handshakeWithSecrets, PROTOCOL } from './handshake.js';
import type { SocketOpener } from './opener.js';
import { OutgoingLink } from './outgoing-link.js';
import { SocketBridge } from './socket-bridge.js';

/** The parts that all accounts of a host share. */
export interface WebSocketShare {
  /** Undefined when the host has none, because the application answers the requests of functions itself. */
  readonly opener: SocketOpener | undefined;
  /** The WebSockets that one account may have open. */
  readonly maxSockets: number;
  /** Open WebSockets, by account. */
  readonly open: Map<string, number>;
}

/** The headers of the handshake. The host writes them itself, and leaves out the function's. */
const HANDSHAKE_HEADERS: ReadonlySet<string> = new Set([
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
]);
const MAX_PROTOCOLS = 100;

export function webSocketService(context: FunctionContext<WebSocketShare>): Service {
  const { account, shared, limits } = context;

  return async call => {
    const { method, work, signal } = call;
    if (method !== 'fetch') {
      throw new EdgeError('EDGE_NOT_SUPPORTED', `WebSockets have no method ${JSON.stringify(method.slice(0, 100))}`);
    }
    const head = checkHead(call.args);
    const headers = withoutHeaders(head.headers, HANDSHAKE_HEADERS);
    const protocols = protocolsOf(head.headers);
    checkTarget(context, head.url);
    const { egress: policy } = context;
    const { origin } = call;
    policy?.checkRequest({ method: 'GET', url: head.url, headers }, origin);
    const { sent, substituted } = handshakeWithSecrets(policy, { url: head.url, headers, protocols }, origin);
    const opener = openerOf(shared, head.url);
    const local = await askHere(context, call, head, headers, protocols);
    if (local !== undefined) return local;
    const maxMessageBytes = limits.webSocketMessageBytes;
    const release = countSocket(shared, account, call);
    try {
      work.charge(head.url.protocol === 'https:' ? HOST_COSTS.tlsSocketMs : HOST_COSTS.socketMs);
      const opened = await opener.open({
        head: sent,
        protocols: sent.protocols,
        traceHeaders: call.traceHeaders ?? [],
        maxMessageBytes,
        signal,
      });
      const { statusCode = 0, statusMessage = '', rawHeaders } = opened.response;
      const replyHead = {
        status: statusCode,
        statusText: substituted?.hidden(statusMessage) ?? statusMessage,
        headers: answeredHeaders(rawHeaders, substituted),
        url: head.url.href,
        redirected: false,
        decoded: false,
      };
      if (opened.kind === 'open') {
        const link = new OutgoingLink(
          owner => new SocketBridge({ ...opened, isServer: false }, work, maxMessageBytes, owner),
          call.body,
          work,
          signal,
          release,
        );
        return { head: replyHead, body: { [Symbol.asyncIterator]: () => link }, isOpen: true };
      }
      return refused(replyHead, opened.response, call, release);
    } catch (error) {
      release();
      if (errorCode(error) === 'EDGE_EGRESS_DENIED') policy?.refusedAddress({ method: 'GET', url: head.url }, origin);
      throw error;
    }
  };
}

/** The server has answered as it would any request: the function gets that. */
function refused(
  head: { readonly status: number },
  response: AsyncIterable<Uint8Array> & Parameters<typeof bodyStream>[0],
  { body, work }: ServiceCall,
  release: () => void,
): ServiceReply {
  if (body !== null && !(body instanceof Uint8Array)) void body[Symbol.asyncIterator]().return?.();
  response.once('close', guarded(release));
  const stream = bodyStream(
    response,
    cause => new EdgeError('EDGE_EGRESS_FAILED', 'The body of the answer broke off', { cause }),
  );
  // A redirect is the function's to follow, by another fetch.
  return {
    head,
    body: chargedBody(stream, work, HOST_COSTS.movedMbMs, bytes => work.countEgress(0, bytes)),
  };
}

/** The answer of the function of this host that serves the URL; undefined when the network does. */
async function askHere(
  { account, function: name, localOf }: FunctionContext<WebSocketShare>,
  { body, signal, work, origin }: ServiceCall,
  { method, url }: Pick<CheckedHead, 'method' | 'url'>,
  headers: readonly string[],
  protocols: readonly string[],
): Promise<ServiceReply | undefined> {
  const send = localOf?.(url, origin);
  if (send === undefined) return undefined;
  const offered = protocols.length === 0 ? [] : ['sec-websocket-protocol', protocols.join(', ')];
  const all = [...headers, ...offered, 'upgrade', 'websocket'];
  const hop = { account, function: name, method, url, headers: all, body, contentLength: undefined, signal, work };
  const answer = await send(hop);
  if (answer === undefined) return undefined;
  const { status, statusText, headers: answered, body: messages } = answer;
  const head = { status, statusText, headers: answered, url: url.href, redirected: false, decoded: false };
  if (status === 101) return { head, body: messages, isOpen: true };
  if (body !== null) cancelBody(body);
  return { head, body: messages };
}

/** @throws EdgeError EDGE_EGRESS_DENIED, EDGE_EGRESS_FAILED */
function checkTarget({ checkUrl }: FunctionContext<WebSocketShare>, url: URL): void {
  checkUrl(url);
  if (!isBadPort(url)) return;
  throw new EdgeError(
    'EDGE_EGRESS_FAILED',
    `Cannot open a WebSocket to ${url.host}: the port is one that fetch refuses`,
  );
}

/** @throws EdgeError EDGE_EGRESS_DENIED */
function openerOf({ opener }: WebSocketShare, url: URL): SocketOpener {
  if (opener !== undefined) return opener;
  throw new EdgeError(
    'EDGE_EGRESS_DENIED',
    `Cannot open a WebSocket to ${url.host}: this host opens none for functions (option egress.sockets)`,
  );
}

/** @throws TypeError */
function protocolsOf(headers: readonly string[]): string[] {
  const names: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at] === 'sec-websocket-protocol') names.push(...(headers[at + 1] ?? '').split(','));
  }
  const protocols = names.map(name => name.trim());
  const isValid = protocols.length <= MAX_PROTOCOLS && protocols.every(name => PROTOCOL.test(name));
  if (isValid && new Set(protocols).size === protocols.length) return protocols;
  throw new TypeError('Cannot open a WebSocket: Sec-WebSocket-Protocol is not a list of different tokens');
}

/** Counts an open WebSocket until the function returned is called. @throws EdgeError EDGE_EGRESS_FAILED, EDGE_OVERLOADED */
function countSocket({ open, maxSockets }: WebSocketShare, account: string, { work }: ServiceCall): () => void {
  const count = open.get(account) ?? 0;
  if (count >= maxSockets) {
    throw new EdgeError(
      'EDGE_EGRESS_FAILED',
      `Cannot open a WebSocket: the account has ${count} open, at most ${maxSockets} are allowed (option egress.socketsPerAccount)`,
    );
  }
  work.openDescriptor();
  open.set(account, count + 1);
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    work.closeDescriptor();
    const left = (open.get(account) ?? 1) - 1;
    if (left > 0) open.set(account, left);
    else open.delete(account);
  };
}
