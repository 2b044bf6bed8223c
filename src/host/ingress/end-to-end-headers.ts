/**
 * Headers that a client names in `Connection` are for its connection alone and go no further.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
 */
import type { IncomingMessage } from 'node:http';
import { fieldsOf } from '../../quotas/requests/both-protocols.js';

/** The usual values, which name no header that could be left out. */
const PLAIN: ReadonlySet<string> = new Set(['keep-alive', 'close', 'upgrade', 'Upgrade', 'Keep-Alive', 'Close']);
/** They frame the request or say where it goes and comes from: a client must not be able to take them away. `Connection` and `Upgrade` stay for handshakes. */
const KEPT = /^(?:host|connection|upgrade|content-.*|transfer-encoding|(?:x-)?forwarded.*|sec-.*)$/;

/** Names and values in turn. The list of fieldsOf() when there is nothing to leave out. */
export function endToEndHeaders(request: IncomingMessage): readonly string[] {
  const { connection } = request.headers;
  const rawHeaders = fieldsOf(request);
  if (connection === undefined || PLAIN.has(connection)) return rawHeaders;
  const named = new Set<string>();
  for (const part of connection.split(',')) {
    const name = part.trim().toLowerCase();
    if (!KEPT.test(name)) named.add(name);
  }
  const isNamed = (at: number): boolean => named.has((rawHeaders[at & ~1] ?? '').toLowerCase());
  return rawHeaders.filter((_, at) => !isNamed(at));
}
