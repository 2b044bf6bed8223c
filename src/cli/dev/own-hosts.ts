/**
 * The hosts by which `edgehost dev` is asked. A page of another site can have its own name resolve to 127.0.0.1, and then read what functions answer, as if it
 * were theirs (DNS rebinding). The browser sends that name, so a name that is not expected is refused. An address cannot be made to resolve to another one.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';

/** Whether a request with this header `Host` is meant. @param patterns routes of the functions: `api.example.com/*`, `*.example.com/*` */
export function isOwnHost(host: string, listensOn: string, patterns: Iterable<string>): boolean {
  const name = nameOf(host);
  if (name === 'localhost' || name.endsWith('.localhost') || name === listensOn.toLowerCase()) return true;
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  for (const pattern of patterns) {
    const own = nameOf(pattern.replace(/^https?:\/\//, '').replace(/\/.*$/s, ''));
    // A route of any host is no reason to trust each.
    if (own === '*' || own === '') continue;
    if (own.startsWith('*') ? name.endsWith(own.slice(1)) : name === own) return true;
  }
  return false;
}

const PAGE = 'content-type: text/plain; charset=utf-8';

export function refuseHost(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(textFor(request));
}

export function refuseUpgrade(request: IncomingMessage, socket: Duplex): void {
  const text = textFor(request);
  socket.on('error', () => {});
  socket.end(
    `HTTP/1.1 421 Misdirected Request\r\n${PAGE}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

function textFor({ headers: { host = '' } }: IncomingMessage): string {
  const name = JSON.stringify(nameOf(host).slice(0, 100));
  return `edgehost dev does not answer the host ${name}, so that pages of other sites cannot read what the functions answer.\nUse localhost, a name that ends in .localhost or an address, add a route with this host to edgehost.toml, or give the name by --host.\n`;
}

/** Without its port, in lower case. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}
