/** Bounds that node:http has of its own, and what the listener says about those that are tighter than the limits. */
import http, { type IncomingMessage } from 'node:http';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';

/**
 * Headers of a request that node:http takes unless `server.maxHeadersCount` says otherwise; Node 20 drops the rest without a word, Node 24
 * answers 431. (Its documentation says 2,000, which counts names and values.)
 */
const MAX_HEADERS = 1000;
/** The bytes of a head beside URL, names and values: the method, the version, separators and line ends of two hundred headers. */
const HEAD_OVERHEAD_BYTES = 1024;

/** The server that a request came to; undefined when its connection does not name one. */
export function serverOf({ socket }: IncomingMessage): unknown {
  return 'server' in socket ? socket.server : undefined;
}

export function maxHeadersOf(server: unknown): number {
  const own =
    typeof server === 'object' && server !== null && 'maxHeadersCount' in server ? server.maxHeadersCount : undefined;
  if (typeof own !== 'number') return MAX_HEADERS;
  return own > 0 ? own : Number.POSITIVE_INFINITY;
}

/** node:http has a bound of its own for heads, and answers 431 before anything here is asked. */
export function checkServer(server: unknown, limits: ResolvedLimits, onWarning: (error: Error) => void): void {
  const own =
    typeof server === 'object' && server !== null && 'maxHeaderSize' in server ? server.maxHeaderSize : undefined;
  const maxHeaderSize = typeof own === 'number' ? own : http.maxHeaderSize;
  const wanted = limits.urlBytes + limits.headersBytes;
  if (!Number.isFinite(wanted) || maxHeaderSize >= wanted) return;
  onWarning(
    new EdgeError(
      'EDGE_CONFIG_INVALID',
      `The server of the listener answers 431 to heads of more than ${maxHeaderSize} bytes by itself, where limits urlBytes and headersBytes allow ${wanted} together: create it with http.createServer({ maxHeaderSize: ${wanted + HEAD_OVERHEAD_BYTES} }, listener)`,
    ),
  );
}

export function tooManyHeaders({ method }: IncomingMessage, maxRawHeaders: number): EdgeError {
  return new EdgeError(
    'EDGE_HEADERS_TOO_LARGE',
    `Cannot serve the ${method} request: it has more headers than its server takes, which are ${maxRawHeaders / 2} (maxHeadersCount of the server)`,
  );
}
