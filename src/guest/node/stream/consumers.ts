/** node:stream/consumers: the whole content of a stream. @see https://nodejs.org/api/webstreams.html#utility-consumers */
import { TextDecoder } from '../../web/encoding/encoding.ts';
import { Blob } from '../../web/file/blob.ts';
import { Buffer } from '../buffer/buffer.ts';

type Source = AsyncIterable<unknown>;

async function piecesOf(stream: Source): Promise<unknown[]> {
  const pieces: unknown[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

async function text(stream: Source): Promise<string> {
  const decoder = new TextDecoder();
  let result = '';
  for await (const piece of stream) {
    result += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
  }
  return result + decoder.decode();
}

async function blob(stream: Source): Promise<object> {
  return new Blob(await piecesOf(stream));
}

async function arrayBuffer(stream: Source): Promise<ArrayBuffer> {
  return (await new Blob(await piecesOf(stream)).arrayBuffer()) as ArrayBuffer; // as the method says
}

async function buffer(stream: Source): Promise<Uint8Array> {
  return Buffer.from(await arrayBuffer(stream));
}

async function json(stream: Source): Promise<unknown> {
  return JSON.parse(await text(stream));
}

export default { arrayBuffer, blob, buffer, json, text };
