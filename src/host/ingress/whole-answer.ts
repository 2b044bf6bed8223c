/** Sends a response whose body is all there. */
import http, { type ServerResponse } from 'node:http';
import { guarded } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { writeHead } from './response-head.js';

const { end: plainEnd, write: plainWrite } = http.ServerResponse.prototype;
/** Node writes texts of up to 16 KiB without a buffer of their own, the head among them. */
const MAX_TEXT_BYTES = 8 * 1024;

/**
 * Sends the body without compressing it. Bytes that the client does not take at once count to the account until it has taken them.
 * The response is not closed yet.
 *
 * @param headers names and values in turn, without Content-Length; gets it
 * @throws as writeHead()
 */
export function sendWhole(
  response: ServerResponse,
  { bytes }: HostShare,
  status: number,
  statusText: string,
  headers: string[],
  body: Buffer,
): void {
  headers.push('content-length', String(body.length));
  writeHead(response, status, statusText, headers);
  if (body.length === 0) {
    response.end();
    return;
  }
  endWith(response, body);
  if (response.writableLength === 0) return;
  const { byteLength } = body.buffer;
  bytes.countBuffers(byteLength);
  response.once(
    'close',
    guarded(() => bytes.countBuffers(-byteLength)),
  );
}

/**
 * Ends the response with all of its body. A short one goes as a text, a character for each byte: node:http then writes it with the head in one piece, which
 * takes a quarter less time for a whole request (measured, Node 20.20). Not when a middleware has replaced `end`: it may forget the encoding.
 */
function endWith(response: ServerResponse, body: Buffer): void {
  if (body.length > MAX_TEXT_BYTES || response.end !== plainEnd || response.write !== plainWrite) response.end(body);
  else response.end(body.toString('latin1'), 'latin1');
}
