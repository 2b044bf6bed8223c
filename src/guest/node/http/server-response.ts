/** ServerResponse, which becomes the Response of a fetch handler. @see https://nodejs.org/api/http.html#class-httpserverresponse */
import { Headers } from '../../web/fetch/headers.ts';
import { isNullBodyStatus, Response } from '../../web/fetch/response.ts';
import { ReadableStream, type ReadableStreamDefaultController } from '../../web/streams/streams.ts';
import { Buffer } from '../buffer/buffer.ts';
import { codeError } from '../errors.ts';
import { notSupported, valuesOf } from '../unsupported.ts';
import { hasInvalidChar } from './header-fields.ts';
import { type OutgoingHttpMessage, OutgoingMessage } from './outgoing-message.ts';
import { type Done, defineClass, type StreamConstructor } from './streams.ts';

/** Bytes that a client has not taken, behind which no write is done. */
const HIGH_WATER_MARK = 65_536;
/** They belong to the connection, which is the host's. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

const STATUS_CODES = valuesOf('http').STATUS_CODES as { readonly [status: number]: string }; // a table of Node's

export interface ServerResponse extends OutgoingHttpMessage {
  statusCode: number;
  statusMessage: string | undefined;
  /** Takes the Response, as soon as its head and the kind of its body are known. */
  _deliver: ((response: Response) => void) | undefined;
  /** The body, when it is short enough to be known at its beginning. */
  _pieces: Uint8Array[];
  _body: ReadableStreamDefaultController<Uint8Array> | undefined;
  _onPull: Done | undefined;
  _hasBegun: boolean;
  /** The error that it was destroyed with. */
  _failure: Error | null;
  writeHead(status: number, message?: unknown, headers?: unknown): this;
}

function construct(this: ServerResponse, req?: { readonly method?: string | null }): void {
  OutgoingMessage.call(this, { highWaterMark: HIGH_WATER_MARK });
  this.req = req;
  this.statusCode = 200;
  this.statusMessage = undefined;
  for (const name of ['_deliver', '_body', '_onPull', '_hasBegun', '_pieces', '_failure']) {
    Object.defineProperty(this, name, { value: undefined, enumerable: false, writable: true });
  }
  this._hasBegun = false;
  this._pieces = [];
}

/** A function, as in Node: older code calls it with an object of its own. */
export const ServerResponse = construct as unknown as StreamConstructor<ServerResponse> & {
  new (req?: object): ServerResponse;
};

function begin(response: ServerResponse, isWhole: boolean): void {
  if (response._hasBegun) return;
  response._hasBegun = true;
  if (!response.headersSent) response.writeHead(response.statusCode);
  const { statusCode: status, statusMessage } = response;
  const headers = new Headers();
  for (const [name, value] of response._fields.pairs()) {
    if (!HOP_BY_HOP.has(name.toLowerCase())) headers.append(name, value);
  }
  const hasNoBody = isNullBodyStatus(status) || (response.req as { method?: string } | undefined)?.method === 'HEAD';
  const body = hasNoBody ? null : isWhole ? Buffer.concat(response._pieces) : streamOf(response);
  response._deliver?.(new Response(body, { status, statusText: statusMessage ?? '', headers }));
}

function streamOf(response: ServerResponse): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        response._body = controller;
      },
      pull() {
        const done = response._onPull;
        response._onPull = undefined;
        done?.();
      },
      cancel() {
        response._body = undefined;
        response.destroy();
      },
    },
    { highWaterMark: HIGH_WATER_MARK, size: chunk => chunk?.byteLength ?? 0 },
  );
}

defineClass('ServerResponse', ServerResponse, OutgoingMessage, {
  writeHead(this: ServerResponse, status: number, message?: unknown, headers?: unknown) {
    if (this.headersSent) {
      throw codeError(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot write headers after they are sent to the client');
    }
    const code = Math.trunc(Number(status));
    if (!(code >= 100 && code <= 999)) {
      throw codeError(RangeError, 'ERR_HTTP_INVALID_STATUS_CODE', `Invalid status code: ${status}`);
    }
    const text = typeof message === 'string' ? message : undefined;
    this._fields.setAll(text === undefined ? (message ?? headers) : headers);
    this.statusCode = code;
    this.statusMessage = text ?? this.statusMessage ?? STATUS_CODES[code] ?? 'unknown';
    if (hasInvalidChar(this.statusMessage)) {
      throw codeError(TypeError, 'ERR_INVALID_CHAR', 'Invalid character in statusMessage');
    }
    this.headersSent = true;
    return this;
  },
  writeHeader(this: ServerResponse, status: number, message?: unknown, headers?: unknown) {
    return this.writeHead(status, message, headers);
  },
  _implicitHeader(this: ServerResponse) {
    this.writeHead(this.statusCode);
  },
  flushHeaders(this: ServerResponse) {
    begin(this, false);
  },
  /** The client has sent its body without waiting. */
  writeContinue(_done?: Done) {
    _done?.();
  },
  writeProcessing() {
    throw notSupported('http', 'writeProcessing()', 'The host answers with one head');
  },
  writeEarlyHints() {
    throw notSupported('http', 'writeEarlyHints()', 'The host answers with one head: set the header "link"');
  },
  assignSocket(this: ServerResponse, socket: never) {
    this.socket = socket;
    this.connection = socket;
  },
  detachSocket(this: ServerResponse) {
    this.socket = null;
    this.connection = null;
  },
  _write(this: ServerResponse, chunk: Uint8Array, _encoding: string, done: Done) {
    if (!this._hasBegun && this.finished) {
      this._pieces.push(chunk);
      done();
      return;
    }
    begin(this, false);
    const body = this._body;
    if (body === undefined) {
      done();
      return;
    }
    // Code may use its memory again after the callback.
    body.enqueue(Uint8Array.prototype.slice.call(chunk));
    if ((body.desiredSize ?? 0) > 0) done();
    else this._onPull = done;
  },
  _final(this: ServerResponse, done: Done) {
    begin(this, true);
    this._body?.close();
    this._body = undefined;
    done();
  },
  _destroy(this: ServerResponse, error: Error | null, done: Done) {
    if (!this.writableFinished) {
      const reason = error ?? codeError(Error, 'ECONNRESET', 'The response was destroyed before its end');
      this._body?.error(reason);
      this._body = undefined;
    }
    // As in Node, the error is the connection's, and not an event of the response.
    this._failure = error;
    done();
  },
});
