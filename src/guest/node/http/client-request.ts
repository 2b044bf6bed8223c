/** ClientRequest: a request by fetch(), with its rules about addresses and its limits. @see https://nodejs.org/api/http.html#class-httpclientrequest */
import { fetch } from '../../web/fetch/fetch.ts';
import { Headers } from '../../web/fetch/headers.ts';
import type { Response } from '../../web/fetch/response.ts';
import { AbortController } from '../../web/scheduling/abort.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { ReadableStream, type ReadableStreamDefaultController } from '../../web/streams/streams.ts';
import { Buffer } from '../buffer/buffer.ts';
import { abortError, checkFunction, codeError } from '../errors.ts';
import type { Listener } from '../events/emitter.ts';
import { httpSocket } from './http-socket.ts';
import { fillMessage, IncomingMessage } from './incoming-message.ts';
import { type OutgoingHttpMessage, OutgoingMessage } from './outgoing-message.ts';
import { type HttpTarget, optionsOf, type RequestOptions, targetOf } from './request-options.ts';
import { type Done, defineClass, emitTimeout, type StreamConstructor } from './streams.ts';

/** A body up to this length is sent at once, with its length. */
const WHOLE_BYTES = 65_536;

export interface ClientRequest extends OutgoingHttpMessage {
  method: string;
  path: string;
  host: string;
  protocol: string;
  aborted: boolean;
  reusedSocket: boolean;
  agent: unknown;
  res: IncomingMessage | null;
  _target: HttpTarget;
  _controller: AbortController;
  _pieces: Uint8Array[];
  _pieceBytes: number;
  _body: ReadableStreamDefaultController<Uint8Array> | undefined;
  _onPull: Done | undefined;
  _isSent: boolean;
  abort(): void;
}

function construct(this: ClientRequest, ...args: unknown[]): void {
  const { options, callback } = optionsOf(args);
  start(this, options, callback, 'http:');
}

function start(request: ClientRequest, options: RequestOptions, callback: unknown, protocol: string): void {
  const target = targetOf(options, protocol);
  // It is over with its response, and not when its own body is sent.
  OutgoingMessage.call(request, { autoDestroy: false });
  const hidden: Partial<ClientRequest> = {
    _target: target,
    _controller: new AbortController(),
    _pieces: [],
    _pieceBytes: 0,
    _body: undefined,
    _onPull: undefined,
    _isSent: false,
  } as never; // these members are set later
  for (const [name, value] of Object.entries(hidden)) {
    Object.defineProperty(request, name, { value, enumerable: false, writable: true });
  }
  const { method, path, host } = target;
  Object.assign(request, { method, path, host, protocol: target.protocol });
  Object.assign(request, { aborted: false, reusedSocket: false, res: null, agent: options.agent });
  request._fields.setAll(options.headers);
  if (target.authorization !== undefined && !request._fields.has('authorization')) {
    request._fields.set('Authorization', target.authorization);
  }
  if (options.setHost !== false && !request._fields.has('host')) request._fields.set('Host', target.hostHeader);
  if (callback !== undefined) {
    checkFunction(callback, 'callback');
    request.once('response', callback as Listener); // checked
  }
  if (options.timeout !== undefined) emitTimeout(request, options.timeout, undefined, () => request.res !== null);
  followSignal(request, options);
  queueMicrotask(() => {
    if (request.destroyed) return;
    const socket = httpSocket({
      encrypted: target.protocol === 'https:',
      remoteAddress: undefined,
      onDestroy: error => void request.destroy(error),
    });
    request.socket = socket;
    request.connection = socket;
    request.emit('socket', socket);
  });
}

function followSignal(request: ClientRequest, { signal }: RequestOptions): void {
  if (signal === undefined || signal === null) return;
  const abort = (): void => void request.destroy(abortError(signal.reason));
  if (signal.aborted) queueMicrotask(abort);
  else signal.addEventListener('abort', abort, { once: true });
}

/** A function, as in Node: older code calls it with an object of its own. */
export const ClientRequest = construct as unknown as StreamConstructor<ClientRequest> & {
  new (...args: unknown[]): ClientRequest;
};

/** Makes the functions `request()` and `get()` of a protocol. */
export function requestsOf(protocol: string): {
  request(...args: unknown[]): ClientRequest;
  get(...args: unknown[]): ClientRequest;
} {
  const request = (...args: unknown[]): ClientRequest => {
    const { options, callback } = optionsOf(args);
    const made = Object.create(ClientRequest.prototype) as ClientRequest; // start() is its constructor
    start(made, options, callback, protocol);
    return made;
  };
  const get = (...args: unknown[]): ClientRequest => {
    const made = request(...args);
    made.end();
    return made;
  };
  return { request, get };
}

function send(request: ClientRequest, body: Uint8Array | ReadableStream<Uint8Array> | undefined): void {
  request._isSent = true;
  request.headersSent = true;
  const { url, method } = request._target;
  const headers = new Headers();
  for (const [name, value] of request._fields.pairs()) {
    // fetch() writes these itself.
    if (!/^(?:host|connection|content-length|transfer-encoding|keep-alive)$/i.test(name)) headers.append(name, value);
  }
  const init = { method, headers, body, redirect: 'manual', signal: request._controller.signal, duplex: 'half' };
  fetch(url, init).then(
    response => onResponse(request, response),
    (error: Error) => {
      if (!request.destroyed) request.destroy(error);
    },
  );
}

function onResponse(request: ClientRequest, response: Response): void {
  if (request.destroyed) return;
  const message = new IncomingMessage(request.socket);
  message.statusCode = response.status;
  message.statusMessage = response.statusText;
  message.url = '';
  fillMessage(message, response);
  Object.assign(message, { req: request });
  request.res = message;
  message.once('close', () => {
    request.destroyed = true;
    request.emit('close');
  });
  // A response that nobody listens for is read to its end.
  if (!request.emit('response', message)) message.resume();
}

defineClass('ClientRequest', ClientRequest, OutgoingMessage, {
  _write(this: ClientRequest, chunk: Uint8Array, _encoding: string, done: Done) {
    if (!this._isSent) {
      this._pieces.push(Uint8Array.prototype.slice.call(chunk));
      this._pieceBytes += chunk.byteLength;
      if (this._pieceBytes > WHOLE_BYTES) sendStream(this);
      done();
      return;
    }
    this._body?.enqueue(Uint8Array.prototype.slice.call(chunk));
    if (this._body === undefined || (this._body.desiredSize ?? 0) > 0) done();
    else this._onPull = done;
  },
  _final(this: ClientRequest, done: Done) {
    if (this._isSent) this._body?.close();
    else {
      const { method } = this._target;
      const canHaveBody = method !== 'GET' && method !== 'HEAD';
      if (this._pieceBytes > 0 && !canHaveBody) {
        done(codeError(TypeError, 'EDGE_NOT_SUPPORTED', `fetch() sends no body with ${method}: use another method`));
        return;
      }
      send(this, canHaveBody && this._pieceBytes > 0 ? Buffer.concat(this._pieces) : undefined);
    }
    this._body = undefined;
    done();
  },
  _destroy(this: ClientRequest, error: Error | null, done: Done) {
    this._controller.abort(error ?? undefined);
    this._body?.error(error ?? codeError(Error, 'ECONNRESET', 'socket hang up'));
    this._body = undefined;
    if (this.res !== null && !this.res.complete) this.res.destroy(error ?? undefined);
    const hangUp = this.res === null && error === null ? codeError(Error, 'ECONNRESET', 'socket hang up') : error;
    done(hangUp);
  },
  flushHeaders(this: ClientRequest) {
    const { method } = this._target;
    if (!this._isSent && method !== 'GET' && method !== 'HEAD') sendStream(this);
  },
  abort(this: ClientRequest) {
    if (this.aborted) return;
    this.aborted = true;
    queueMicrotask(() => void this.emit('abort'));
    this.destroy();
  },
  setTimeout(this: ClientRequest, ms: number, onTimeout?: unknown) {
    emitTimeout(this, ms, onTimeout, () => this.res !== null);
    return this;
  },
  /** Connections are the host's. */
  setNoDelay() {},
  setSocketKeepAlive() {},
});

/** Sends a body of unknown length, which begins with the pieces that were written. */
function sendStream(request: ClientRequest): void {
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        request._body = controller;
        for (const piece of request._pieces) controller.enqueue(piece);
        request._pieces = [];
      },
      pull() {
        const done = request._onPull;
        request._onPull = undefined;
        done?.();
      },
    },
    { highWaterMark: WHOLE_BYTES, size: chunk => chunk?.byteLength ?? 0 },
  );
  send(request, stream);
}
