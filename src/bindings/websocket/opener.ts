/** Opens WebSockets for functions: connections under the address policy of outgoing requests, and the handshake on them by the package ws. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { Dialer, type DialerOptions } from '../socket/dialer.js';
import type { Handshake } from './handshake.js';
import { wsLimits } from './ws-options.js';

/** The answer of the server: a WebSocket, or a response like any other. */
export type Opened =
  | { readonly kind: 'open'; readonly ws: WebSocket; readonly socket: Socket; readonly response: IncomingMessage }
  | { readonly kind: 'refused'; readonly socket: Socket; readonly response: IncomingMessage };

export interface OpenOptions {
  readonly head: Pick<Handshake, 'url' | 'headers'>;
  readonly protocols: readonly string[];
  readonly traceHeaders: readonly string[];
  readonly maxMessageBytes: number;
  readonly signal: AbortSignal;
}

const MAX_HEADER_BYTES = 64 * 1024;

export class SocketOpener {
  readonly #dialer: Dialer;
  readonly #userAgent: string;
  readonly #timeoutMs: number;

  /** @throws TypeError for a text that is neither an address nor a CIDR range */
  constructor(options: DialerOptions) {
    this.#dialer = new Dialer(options);
    this.#userAgent = options.userAgent ?? 'edgehost';
    this.#timeoutMs = options.headersTimeoutMs ?? 300_000;
  }

  /** @throws EdgeError EDGE_EGRESS_DENIED, EDGE_EGRESS_FAILED; the reason of the signal */
  async open(options: OpenOptions): Promise<Opened> {
    const { head, signal } = options;
    const { url } = head;
    const isSecure = url.protocol === 'https:';
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    const target = { hostname, port: Number(url.port) || (isSecure ? 443 : 80) };
    const { WebSocket: Client } = await import('ws');
    const plain = await this.#dialer.open(target, signal);
    const socket = isSecure ? await this.#dialer.secure(plain, target, hostname, signal) : plain;
    // Names come from function code: none is inherited.
    const headers: Record<string, string> = Object.assign(Object.create(null), { 'user-agent': this.#userAgent });
    for (const list of [options.traceHeaders, head.headers]) {
      for (let at = 0; at + 1 < list.length; at += 2) add(headers, list[at] ?? '', list[at + 1] ?? '');
    }
    const ws = new Client(`${isSecure ? 'wss' : 'ws'}:${url.href.slice(url.protocol.length)}`, [...options.protocols], {
      ...wsLimits(options.maxMessageBytes),
      headers,
      followRedirects: false,
      handshakeTimeout: Math.min(this.#timeoutMs, 0x7fff_ffff),
      maxHeaderSize: MAX_HEADER_BYTES,
      // It is connected, to an address that was judged, and its certificate was checked.
      createConnection: () => socket,
    } as ConstructorParameters<typeof Client>[2]);
    return this.#answer(ws, socket, url, signal);
  }

  #answer(ws: WebSocket, socket: Socket, url: URL, signal: AbortSignal): Promise<Opened> {
    return new Promise((resolve, reject) => {
      let upgraded: IncomingMessage | undefined;
      let failure: Error | undefined;
      const onAbort = guarded((): void => {
        ws.terminate();
        socket.destroy();
      });
      const done = guarded((): void => signal.removeEventListener('abort', onAbort));
      ws.on('error', error => {
        failure = error;
      });
      ws.once(
        'close',
        guarded(() => {
          done();
          socket.destroy();
          reject(signal.aborted ? signal.reason : failedError(url, failure));
        }),
      );
      ws.once('upgrade', response => {
        upgraded = response;
      });
      ws.once(
        'open',
        guarded(() => {
          done();
          // Its messages wait until somebody listens to them.
          ws.pause();
          if (upgraded !== undefined) resolve({ kind: 'open', ws, socket, response: upgraded });
        }),
      );
      ws.once(
        'unexpected-response',
        guarded((_request, response) => {
          // Its body may last as long as the call.
          response.once('close', done);
          resolve({ kind: 'refused', socket, response });
        }),
      );
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }
}

/** Joins several values of one name to a list. A User-Agent is no list, so only the last one is sent. */
function add(headers: Record<string, string>, name: string, value: string): void {
  const before = headers[name];
  headers[name] = before === undefined || name === 'user-agent' ? value : `${before}, ${value}`;
}

function failedError(url: URL, cause: Error | undefined): EdgeError {
  // The texts of ws about a handshake are safe to show; for errors of the system, only the code is.
  const code = cause !== undefined && 'code' in cause ? String(cause.code) : undefined;
  const why = code ?? cause?.message ?? 'the connection was closed';
  return new EdgeError('EDGE_EGRESS_FAILED', `Cannot open a WebSocket to ${url.host}: ${why}`, { cause });
}
