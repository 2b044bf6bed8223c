/**
 * One way to ask requests and responses of node:http and of node:http2. Both have the same interface, but they differ in how they say that the client has
 * disconnected, that a body has broken off, and that a response can take more. Only objects of node:http2 have a `stream`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { guarded } from '../guarded.js';

const { NGHTTP2_NO_ERROR: NO_ERROR } = constants;

function streamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return 'stream' in message ? (message.stream as ServerHttp2Stream) : undefined; // nothing else has a property of that name
}

/** The connection of HTTP/2 that a request came by. */
export function sessionOf(request: IncomingMessage): object | undefined {
  return streamOf(request)?.session;
}

/** The client has gone, or has been answered already: nothing will receive an answer, and no event will say so again. */
export function isClosed(response: ServerResponse): boolean {
  const stream = streamOf(response);
  return stream === undefined ? response.destroyed : stream.destroyed || stream.closed;
}

/** All of the response has been handed to the system. A stream of HTTP/2 that the client resets is ended too, by Node. */
export function isDelivered(response: ServerResponse): boolean {
  const stream = streamOf(response);
  return response.writableFinished && (stream === undefined || (!stream.aborted && stream.rstCode === 0));
}

/**
 * Calls the listener when the response closes, delivered or not; twice at most. A stream of HTTP/2 that the client resets closes when its body has been read,
 * and before that says that it is aborted.
 */
export function onClosed(response: ServerResponse, listener: () => void): () => void {
  const stream = streamOf(response);
  const onEnd = guarded(listener);
  response.once('close', onEnd);
  stream?.once('aborted', onEnd);
  return () => {
    response.off('close', onEnd);
    stream?.off('aborted', onEnd);
  };
}

export function needsDrain(response: ServerResponse): boolean {
  return (streamOf(response) ?? response).writableNeedDrain;
}

/** Ends a response before all of it is sent, so that the client does not take it for whole. */
export function cutOff(response: ServerResponse, error?: Error): void {
  const stream = streamOf(response);
  if (stream === undefined) response.destroy(error);
  else if (!stream.closed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/**
 * Says of a body that has ended whether it is whole. A body that breaks off is an error for node:http, and an end for node:http2. Clients such as Node's own
 * end the body just before they reset the request, so an end counts when no reset has come with it.
 */
export function whenEnded(request: IncomingMessage, listener: (isWhole: boolean) => void): void {
  const stream = streamOf(request);
  if (stream === undefined) listener(true);
  else {
    const decide = (): void => listener(!stream.aborted && (stream.rstCode ?? NO_ERROR) === NO_ERROR);
    // The first comes before what the system has for this process is read once more, the second behind it.
    setImmediate(
      guarded(() => {
        setImmediate(guarded(decide));
      }),
    );
  }
}

/** As `whenEnded`. @throws Error when it is not whole */
export async function checkWhole(request: IncomingMessage): Promise<void> {
  const isWhole = await new Promise<boolean>(resolve => whenEnded(request, resolve));
  if (!isWhole) throw new Error('The client has reset the request');
}

/** Reads no more of a request whose answer has been given. Other requests of an HTTP/2 connection stay as they are. */
export function refuseRest(request: IncomingMessage): void {
  const stream = streamOf(request);
  if (stream === undefined) request.destroy();
  else if (!stream.closed) stream.close(NO_ERROR);
}

/** Whether a request has no body in HTTP/2, where no header must announce one. */
export function endsWithHead(request: IncomingMessage): boolean {
  return streamOf(request)?.endAfterHeaders === true;
}

const fields = new WeakMap<IncomingMessage, readonly string[]>();

/**
 * The header fields of a request, names and values in turn, in the form of HTTP/1.1. From HTTP/2 the host takes the place of the pseudo-header fields, and
 * cookies that came in several fields are one (RFC 9113, 8.2.3 and 8.3.1).
 */
export function fieldsOf(request: IncomingMessage): readonly string[] {
  if (request.httpVersionMajor < 2) return request.rawHeaders;
  const known = fields.get(request);
  if (known !== undefined) return known;
  const own = plainFields(request);
  fields.set(request, own);
  return own;
}

function plainFields({ rawHeaders, headers }: IncomingMessage): readonly string[] {
  const authority: unknown = headers[':authority'];
  const hasAuthority = typeof authority === 'string';
  const own: string[] = hasAuthority ? ['host', authority] : [];
  const cookies: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const value = rawHeaders[at + 1] ?? '';
    if (name === 'cookie') cookies.push(value);
    // The one field of a connection that HTTP/2 has (8.2.2). Clients of HTTP/1.1 name it in Connection.
    else if (name === 'te') continue;
    // It says the same as `:authority`, or does not count.
    else if (!name.startsWith(':') && !(hasAuthority && name === 'host')) own.push(name, value);
  }
  if (cookies.length > 0) own.push('cookie', cookies.join('; '));
  return own;
}
