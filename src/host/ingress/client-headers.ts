/**
 * Describes the client of a request to the function: headers that begin with `edge-client-`, which only the listener sets. Headers of that name that a caller
 * sends are removed, whichever way the request comes. The guest makes `request.client` of them (guest/web/fetch/client.ts).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { sessionOf } from '../../quotas/requests/both-protocols.js';

const PREFIX = 'edge-client-';
const E = 0x65;
const UPPER_TO_LOWER = 0x20;

/** Whether a caller may not have set the header. */
export function isClientHeader(name: string): boolean {
  // Hardly any header begins so: this is asked of every header of every request.
  if ((name.charCodeAt(0) | UPPER_TO_LOWER) !== E || name.length < PREFIX.length) return false;
  return name.slice(0, PREFIX.length).toLowerCase() === PREFIX;
}

/** Names and values in turn. The same list when there is nothing to leave out. */
export function withoutClientHeaders(rawHeaders: readonly string[]): readonly string[] {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isClientHeader(rawHeaders[at] ?? ''))
      return rawHeaders.filter((_, i) => !isClientHeader(rawHeaders[i & ~1] ?? ''));
  }
  return rawHeaders;
}

/** The headers of a TLS connection, cached: they take some calls of the engine and never change. */
const tlsHeaders = new WeakMap<object, string>();

/**
 * Lines for the head of a request, each after a line feed.
 *
 * @param address the client's, as clientAddress() gave it
 * @param peer the address of the connection
 */
export function clientHeaders(request: IncomingMessage, address: string | undefined, peer: string | undefined): string {
  const { socket, httpVersion } = request;
  let lines = address === undefined ? '' : `\nedge-client-ip\n${plainAddress(address)}`;
  if (peer !== undefined && peer !== address) lines += `\nedge-client-proxy-ip\n${plainAddress(peer)}`;
  if (httpVersion !== '1.1') lines += `\nedge-client-http\nHTTP/${httpVersion === '2.0' ? '2' : httpVersion}`;
  if ('encrypted' in socket && socket.encrypted === true) lines += tlsOf(socket, request);
  return lines;
}

/** An IPv4 address without the prefix by which a server for IPv6 reports it. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Each request of HTTP/2 has a socket object of its own, so the texts are kept for the session. */
function tlsOf(socket: Socket, request: IncomingMessage): string {
  const connection = sessionOf(request) ?? socket;
  const known = tlsHeaders.get(connection);
  if (known !== undefined) return known;
  const version = textOf(socket, 'getProtocol');
  const cipher = textOf(socket, 'getCipher');
  const lines = `\nedge-client-tls-version\n${version}\nedge-client-tls-cipher\n${cipher}`;
  tlsHeaders.set(connection, lines);
  return lines;
}

/** A text about a TLS socket, whose type the type of a request does not name; empty where the socket does not provide it. */
function textOf(socket: object, method: 'getProtocol' | 'getCipher'): string {
  const ask: unknown = Reflect.get(socket, method);
  if (typeof ask !== 'function') return '';
  const answer: unknown = Reflect.apply(ask, socket, []);
  if (typeof answer === 'string') return answer;
  const name: unknown =
    typeof answer === 'object' && answer !== null && 'standardName' in answer ? answer.standardName : '';
  return typeof name === 'string' ? name : '';
}
