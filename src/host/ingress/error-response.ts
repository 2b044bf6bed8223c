/** Answers a request that ended with an error: the page of its code, in the form that the client accepts. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type EdgeErrorCode, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import { cutOff, isClosed } from '../../quotas/requests/both-protocols.js';
import { errorPage } from '../../quotas/requests/error-pages.js';
import { writeHead } from './response-head.js';
import { WEBSOCKET_VERSION } from './websocket/handshake.js';

/** The client sees the code and what it means; what happened inside is in the invocation's event. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  retryAfterMs?: number,
): void {
  if (response.headersSent || isClosed(response)) {
    cutOff(response);
    return;
  }
  const code = codeOf(error);
  const { status, headers, body } = errorPage({
    code,
    accept: request.headers.accept,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
  // RFC 6455 section 4.4; a 426 names what to upgrade to, by RFC 9110 section 15.5.22.
  if (code === 'EDGE_WEBSOCKET_VERSION') {
    headers.push('sec-websocket-version', WEBSOCKET_VERSION, 'upgrade', 'websocket', 'connection', 'upgrade, close');
  }
  // With a status text: else it is the one that was set last, which may be what could not be sent.
  writeHead(response, status, STATUS_CODES[status] ?? '', headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

function codeOf(error: unknown): EdgeErrorCode {
  const code = errorCode(error);
  return code !== undefined && isEdgeErrorCode(code) ? code : 'EDGE_INTERNAL';
}
