/**
 * Hops over the network. `Pool.request` of undici with redirects of our own: in one run against a local server it made
 * 37,000 requests a second where undici's `fetch` made 8,000, and each hop passes the policy and the accounting.
 */

import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { type buildConnector, Pool } from 'undici';
import { EdgeError } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { ServiceBody } from '../service.js';
import type { EgressTransport, HopAnswer, HopRequest } from './transport.js';

export interface NetworkOptions {
  readonly connect: buildConnector.connector;
  readonly connectionsPerOrigin: number;
  readonly originsPerAccount: number;
  readonly socketsPerAccount: number;
  readonly keepAliveMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly maxHeaderBytes: number;
}

export class NetworkTransport implements EgressTransport {
  readonly #options: NetworkOptions;
  readonly #accounts: LRUCache<string, AccountSockets>;
  /** Pools that are being closed and whose last requests are in flight. */
  readonly #closing = new Set<Pool>();

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#accounts = new LRUCache({ max: MAX_ACCOUNTS, dispose: ({ pools }) => pools.clear() });
  }

  async send(request: HopRequest): Promise<HopAnswer> {
    const { url, method, signal } = request;
    const body = toUndiciBody(request.body);
    // Not a coerced copy of the query: `https://a/?` and `https://a/` are two URLs.
    const path = url.href.slice(url.origin.length);
    const {
      statusCode,
      statusText,
      headers,
      body: answer,
    } = await this.#pool(request, url.origin).request({
      path,
      method,
      headers: [...request.headers, ...lengthHeader(request)],
      body,
      signal,
      responseHeaders: 'raw',
    });
    const hasBody = method !== 'HEAD' && statusCode !== 204 && statusCode !== 205 && statusCode !== 304;
    if (!hasBody) answer.on('error', () => {}).resume();
    return {
      status: statusCode,
      statusText,
      headers: rawHeaders(headers),
      body: hasBody ? answer : null,
      isEncoded: true,
    };
  }

  async close(): Promise<void> {
    this.#accounts.clear();
    await Promise.all([...this.#closing].map(pool => pool.destroy()));
  }

  #pool({ account, work }: HopRequest, origin: string): Pool {
    // Each account has its own: a tenant can neither use up another one's sockets nor leave something on them.
    let sockets = this.#accounts.get(account);
    if (sockets === undefined) {
      const { originsPerAccount: max } = this.#options;
      sockets = { open: 0, work, pools: new LRUCache({ max, dispose: pool => this.#letGo(pool) }) };
      this.#accounts.set(account, sockets);
    }
    sockets.work = work;
    let pool = sockets.pools.get(origin);
    if (pool === undefined) {
      pool = this.#makePool(origin, sockets);
      sockets.pools.set(origin, pool);
    }
    return pool;
  }

  #makePool(origin: string, sockets: AccountSockets): Pool {
    const { connectionsPerOrigin, keepAliveMs, headersTimeoutMs, bodyTimeoutMs, maxHeaderBytes } = this.#options;
    return new Pool(origin, {
      connect: this.#counted(sockets),
      connections: connectionsPerOrigin,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
    });
  }

  /** Opens sockets while the account has fewer than it may: all accounts share the descriptors of the process. */
  #counted(sockets: AccountSockets): buildConnector.connector {
    const { connect, socketsPerAccount } = this.#options;
    return (options, callback) => {
      if (sockets.open >= socketsPerAccount) {
        const message = `the account has ${sockets.open} sockets open, at most ${socketsPerAccount} are allowed (option egress.socketsPerAccount)`;
        callback(new EdgeError('EDGE_EGRESS_FAILED', message), null);
        return;
      }
      const { work } = sockets;
      try {
        work.openDescriptor();
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)), null);
        return;
      }
      work.charge(options.protocol === 'https:' ? HOST_COSTS.tlsSocketMs : HOST_COSTS.socketMs);
      sockets.open++;
      const closed = guarded((): void => {
        sockets.open--;
        work.closeDescriptor();
      });
      connect(options, (...[error, socket]) => {
        if (error !== null) {
          closed();
          callback(error, null);
          return;
        }
        socket.once('close', closed);
        callback(null, socket);
      });
    };
  }

  #letGo(pool: Pool): void {
    if (pool.destroyed) return;
    this.#closing.add(pool);
    detached(pool.close().finally(() => this.#closing.delete(pool)));
  }
}

/** The sockets of one account. */
interface AccountSockets {
  /** Open, or about to be. */
  open: number;
  /** Counts those that are opened: of the call that came last, for undici does not say which one wants a socket. */
  work: CallWork;
  /** By origin. */
  readonly pools: LRUCache<string, Pool>;
}

/** Accounts whose sockets are kept for later requests. */
const MAX_ACCOUNTS = 10_000;

/** undici takes whole bytes and Node streams. It destroys the stream when the request fails, which ends the iterable. */
function toUndiciBody(body: ServiceBody | null): Uint8Array | Readable | null {
  if (body === null || body instanceof Uint8Array) return body;
  return Readable.from(body, { objectMode: false });
}

function lengthHeader({ body, contentLength }: HopRequest): string[] {
  const isStream = body !== null && !(body instanceof Uint8Array);
  return isStream && contentLength !== undefined ? ['content-length', String(contentLength)] : [];
}

/** With `responseHeaders: 'raw'` undici gives a flat list, which its types do not say. */
function rawHeaders(headers: unknown): string[] {
  return Array.isArray(headers) ? headers.filter(value => typeof value === 'string') : [];
}
