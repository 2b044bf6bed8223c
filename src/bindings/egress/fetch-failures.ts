/** Failures of outgoing requests, as a function may see them. */
import { errorCode, isEdgeErrorCode } from '../../quotas/errors.js';

/**
 * The part of an error that a function receives: a text of this project, or a code. The text of any other error stays
 * in the host: it may name internal addresses, or come from the application's outbound handler.
 */
export function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? '';
  if (isEdgeErrorCode(code) && error instanceof Error) return error.message;
  const isParserError = error instanceof Error && error.name === 'HTTPParserError';
  // The parser's own words, in brackets, are a fixed list.
  if (isParserError) return `the answer is not HTTP/1.1${/ \([\w\s/-]+\)$/.exec(error.message)?.[0] ?? ''}`;
  return REASONS.get(code) ?? (/^[A-Z][A-Z0-9_]+$/.test(code) ? code : 'it failed');
}

/** Errors that say all that a function may know. */
export const PASSED_ON: ReadonlySet<unknown> = new Set(['EDGE_EGRESS_DENIED', 'EDGE_OVERLOADED', 'EDGE_LOOP']);

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ECONNRESET', 'the connection was reset'],
  ['ENOTFOUND', 'the host name has no address'],
  ['UND_ERR_BODY_TIMEOUT', 'the server paused for too long within the body (option egress.bodyTimeoutMs)'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connecting took too long (option egress.connectTimeoutMs)'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the head of the answer is too large (option egress.maxHeaderBytes)'],
  ['UND_ERR_HEADERS_TIMEOUT', 'the server took too long to answer (option egress.headersTimeoutMs)'],
  ['UND_ERR_SOCKET', 'the server closed the connection'],
]);
