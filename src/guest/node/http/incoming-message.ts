/** IncomingMessage: a request of a client, or the response of a server. @see https://nodejs.org/api/http.html#class-httpincomingmessage */
import type { Headers } from '../../web/fetch/headers.ts';
import type { ReadableStream, ReadableStreamDefaultReader } from '../../web/streams/streams.ts';
import type { HttpSocket } from './http-socket.ts';
import { defineClass, emitTimeout, type NodeReadable, Readable, type StreamConstructor } from './streams.ts';

export type HeaderObject = { [name: string]: string | string[] | undefined };

export interface IncomingMessage extends NodeReadable {
  headers: HeaderObject;
  headersDistinct: { [name: string]: string[] };
  rawHeaders: string[];
  trailers: HeaderObject;
  rawTrailers: string[];
  httpVersion: string;
  httpVersionMajor: number;
  httpVersionMinor: number;
  complete: boolean;
  aborted: boolean;
  upgrade: boolean;
  socket: HttpSocket | null;
  connection: HttpSocket | null;
  url: string;
  method: string | null;
  statusCode: number | null;
  statusMessage: string | null;
  /** Reads the bytes of the message. */
  _reader: Reader | undefined;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function construct(this: IncomingMessage, socket: HttpSocket | null = null): void {
  Readable.call(this, {});
  this.headers = {};
  this.headersDistinct = {};
  this.rawHeaders = [];
  this.trailers = {};
  this.rawTrailers = [];
  this.httpVersion = '1.1';
  this.httpVersionMajor = 1;
  this.httpVersionMinor = 1;
  this.complete = false;
  this.aborted = false;
  this.upgrade = false;
  this.socket = socket;
  this.connection = socket;
  this.url = '';
  this.method = null;
  this.statusCode = null;
  this.statusMessage = null;
  this._reader = undefined;
}

/** A function, as in Node: older code calls it with an object of its own. */
export const IncomingMessage = construct as unknown as StreamConstructor<IncomingMessage> & {
  new (socket?: HttpSocket | null): IncomingMessage;
};

defineClass('IncomingMessage', IncomingMessage, Readable, {
  _read(this: IncomingMessage): void {
    const reader = this._reader;
    if (reader === undefined) {
      this.complete = true;
      this.push(null);
      return;
    }
    reader.read().then(
      ({ done, value }) => {
        if (this.destroyed) return;
        if (done) this.complete = true;
        this.push(done ? null : (value ?? null));
      },
      (error: Error) => {
        this.aborted = true;
        this.destroy(error);
      },
    );
  },
  _destroy(this: IncomingMessage, error: Error | null, done: (error: Error | null) => void): void {
    const reader = this._reader;
    if (reader !== undefined && !this.complete) reader.cancel(error ?? undefined).catch(() => {});
    done(error);
  },
  setTimeout(this: IncomingMessage, ms: number, onTimeout?: unknown): IncomingMessage {
    emitTimeout(this, ms, onTimeout, () => this.complete);
    return this;
  },
});

/** Headers of which only the first counts. */
const SINGLE: ReadonlySet<string> = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization referer retry-after server user-agent'
  ).split(' '),
);

/** The members of a Request or a Response that are read. Its body is defined beside its class. */
interface WebMessage {
  readonly headers: Headers;
  readonly body?: ReadableStream<Uint8Array> | null;
}

export function fillMessage(message: IncomingMessage, { headers, body }: WebMessage): void {
  headers.forEach((value: string, name: string) => {
    message.rawHeaders.push(name, value);
    const distinct = message.headersDistinct[name];
    if (distinct === undefined) message.headersDistinct[name] = [value];
    else distinct.push(value);
    const existing = message.headers[name];
    if (name === 'set-cookie') {
      if (Array.isArray(existing)) existing.push(value);
      else message.headers[name] = [value];
    } else if (existing === undefined) message.headers[name] = value;
    else if (!SINGLE.has(name)) message.headers[name] = `${String(existing)}, ${value}`;
  });
  message._reader = body?.getReader();
}
