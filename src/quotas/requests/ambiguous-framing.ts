/**
 * Requests with both Transfer-Encoding and Content-Length, which node:http lets through with its option insecureHTTPParser. They are answered with 400, but
 * a proxy in front may have seen another end of the request than Node has: what follows on the connection is no request of a client, and is not served.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-6.1
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const ambiguous = new WeakSet<Socket>();
/** False on nearly every server, where no request pays for a look-up. */
let isAnyAmbiguous = false;

/** Has the connection closed after the answer to such a request. True for a request behind one, which has no answer. */
export function followsAmbiguousFraming(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers, httpVersionMajor } = request;
  if (isAnyAmbiguous && httpVersionMajor < 2 && ambiguous.has(request.socket)) {
    response.destroy();
    return true;
  }
  if (headers['transfer-encoding'] === undefined || headers['content-length'] === undefined) return false;
  isAnyAmbiguous = true;
  ambiguous.add(request.socket);
  response.shouldKeepAlive = false;
  return false;
}
