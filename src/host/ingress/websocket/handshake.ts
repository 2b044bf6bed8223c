/** The opening handshake with a client (RFC 6455, 4.2), by the package ws, which is loaded with the first. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { wsLimits } from '../../../bindings/websocket/ws-options.js';
import { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import { unsendablePart } from '../response-head.js';

/** A connection that is a WebSocket now. */
export interface Switched {
  readonly ws: WebSocket;
  readonly socket: Duplex;
}

/** The answer of the function: its headers without the ones of the handshake itself, and the protocol it has chosen. */
interface Answer {
  readonly lines: readonly string[];
  readonly protocol: string | undefined;
}

const KEY = /^[+/0-9A-Za-z]{22}==$/;
export const WEBSOCKET_VERSION = '13';

let loading: Promise<typeof import('ws')> | undefined;
let ws: typeof import('ws') | undefined;

/** Loads the package. */
export function loadWs(): Promise<typeof import('ws')> {
  loading ??= import('ws').then(module => {
    ws = module;
    return module;
  });
  return loading;
}

export function isWebSocketRequest({ headers, method }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** Before a function is asked. @throws EdgeError EDGE_REQUEST_MALFORMED, EDGE_WEBSOCKET_VERSION */
export function checkHandshake({ headers }: IncomingMessage): void {
  const key = headers['sec-websocket-key'];
  const version = headers['sec-websocket-version'];
  const why = 'Cannot open the WebSocket:';
  if (version !== WEBSOCKET_VERSION) {
    const given = version === undefined ? 'missing' : JSON.stringify(version.slice(0, 20));
    throw new EdgeError(
      'EDGE_WEBSOCKET_VERSION',
      `${why} Sec-WebSocket-Version is ${given}, and must be ${WEBSOCKET_VERSION}`,
    );
  }
  if (key === undefined || !KEY.test(key)) {
    throw new EdgeError('EDGE_REQUEST_MALFORMED', `${why} Sec-WebSocket-Key is missing or invalid`);
  }
}

/** Servers of ws, one for each size of messages: they hold options alone, and no connections. */
const servers = new Map<number, WebSocketServer>();
const answers = new WeakMap<IncomingMessage, Answer>();

function serverOf(module: typeof import('ws'), maxMessageBytes: number): WebSocketServer {
  const known = servers.get(maxMessageBytes);
  if (known !== undefined) return known;
  const server = new module.WebSocketServer({
    noServer: true,
    clientTracking: false,
    handleProtocols: (offered, request) => {
      const chosen = answers.get(request)?.protocol;
      return chosen !== undefined && offered.has(chosen) ? chosen : false;
    },
    ...wsLimits(maxMessageBytes),
  });
  server.on(
    'headers',
    guarded((lines, request) => lines.push(...(answers.get(request)?.lines ?? []))),
  );
  servers.set(maxMessageBytes, server);
  return server;
}

/**
 * Switches protocols. `loadWs` has resolved before.
 *
 * @param headers of the function's answer: names and values in turn
 * @throws EdgeError EDGE_RESPONSE_HEADER for what cannot be sent
 */
export function switchProtocols(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  headers: readonly string[],
  maxMessageBytes: number,
): Switched | undefined {
  if (ws === undefined) return undefined;
  const part = unsendablePart('', headers);
  if (part !== undefined) throw new EdgeError('EDGE_RESPONSE_HEADER', `The WebSocket cannot be opened: ${part}`);
  answers.set(request, answerOf(headers));
  let opened: WebSocket | undefined;
  serverOf(ws, maxMessageBytes).handleUpgrade(request, socket, head, webSocket => {
    opened = webSocket;
  });
  return opened === undefined ? undefined : { ws: opened, socket };
}

function answerOf(headers: readonly string[]): Answer {
  const lines: string[] = [];
  let protocol: string | undefined;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    const lower = name.toLowerCase();
    if (lower === 'sec-websocket-protocol') protocol = value.trim();
    else if (!lower.startsWith('sec-websocket-') && !FRAMING.has(lower)) lines.push(`${name}: ${value}`);
  }
  return { lines, protocol };
}

/** The headers of a body, and the ones that the handshake writes itself. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
