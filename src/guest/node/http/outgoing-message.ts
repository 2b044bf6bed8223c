/** OutgoingMessage: what a request of a client and the response of a server have in common. @see https://nodejs.org/api/http.html#class-httpoutgoingmessage */
import { checkString, codeError } from '../errors.ts';
import { notSupported } from '../unsupported.ts';
import { HeaderFields, type HeaderValue } from './header-fields.ts';
import type { HttpSocket } from './http-socket.ts';
import { defineClass, emitTimeout, type NodeWritable, type StreamConstructor, Writable } from './streams.ts';

export interface OutgoingHttpMessage extends NodeWritable {
  headersSent: boolean;
  sendDate: boolean;
  finished: boolean;
  shouldKeepAlive: boolean;
  chunkedEncoding: boolean;
  useChunkedEncodingByDefault: boolean;
  socket: HttpSocket | null;
  connection: HttpSocket | null;
  req?: unknown;
  _fields: HeaderFields;
  setHeader(name: string, value: HeaderValue): this;
  flushHeaders(): void;
}

function construct(this: OutgoingHttpMessage, options?: object): void {
  Writable.call(this, { ...options, decodeStrings: true });
  this.headersSent = false;
  this.sendDate = true;
  this.finished = false;
  this.shouldKeepAlive = true;
  this.chunkedEncoding = false;
  this.useChunkedEncodingByDefault = true;
  this.socket = null;
  this.connection = null;
  Object.defineProperty(this, '_fields', { value: new HeaderFields(), enumerable: false, writable: true });
}

/** A function, as in Node: older code calls it with an object of its own. */
export const OutgoingMessage = construct as unknown as StreamConstructor<OutgoingHttpMessage>;

function requireUnsent(message: OutgoingHttpMessage, act: string): void {
  if (!message.headersSent) return;
  throw codeError(Error, 'ERR_HTTP_HEADERS_SENT', `Cannot ${act} headers after they are sent to the client`);
}

const { end: endWritable } = Writable.prototype;

defineClass('OutgoingMessage', OutgoingMessage, Writable, {
  setHeader(this: OutgoingHttpMessage, name: string, value: HeaderValue) {
    requireUnsent(this, 'set');
    this._fields.set(name, value);
    return this;
  },
  appendHeader(this: OutgoingHttpMessage, name: string, value: HeaderValue) {
    requireUnsent(this, 'append');
    this._fields.append(name, value);
    return this;
  },
  setHeaders(this: OutgoingHttpMessage, headers: object) {
    requireUnsent(this, 'set');
    this._fields.setAll(headers);
    return this;
  },
  getHeader(this: OutgoingHttpMessage, name: string) {
    checkString(name, 'name');
    return this._fields.get(name);
  },
  getHeaders(this: OutgoingHttpMessage) {
    return this._fields.toObject();
  },
  getHeaderNames(this: OutgoingHttpMessage) {
    return this._fields.names();
  },
  getRawHeaderNames(this: OutgoingHttpMessage) {
    return this._fields.rawNames();
  },
  hasHeader(this: OutgoingHttpMessage, name: string) {
    checkString(name, 'name');
    return this._fields.has(name);
  },
  removeHeader(this: OutgoingHttpMessage, name: string) {
    checkString(name, 'name');
    requireUnsent(this, 'remove');
    this._fields.delete(name);
  },
  addTrailers() {
    throw notSupported('http', 'addTrailers()', 'Send the values as headers');
  },
  setTimeout(this: OutgoingHttpMessage, ms: number, onTimeout?: unknown) {
    emitTimeout(this, ms, onTimeout, () => this.writableFinished);
    return this;
  },
  end(this: OutgoingHttpMessage, chunk?: unknown, encoding?: unknown, done?: unknown) {
    this.finished = true;
    return endWritable.call(this, chunk, encoding, done);
  },
  /** Members that code of older Nodes reads. */
  get _headers() {
    return (this as unknown as OutgoingHttpMessage)._fields.toObject(); // the prototype of such a message
  },
  get _header() {
    return (this as unknown as OutgoingHttpMessage).headersSent; // the prototype of such a message
  },
});
