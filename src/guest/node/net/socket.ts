/** Socket of node:net, over connect() of edgehost:sockets. @see https://nodejs.org/api/net.html#class-netsocket */
import { connect, type Socket as OpenSocket } from '../../sockets/socket.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { startTimer, stopTimer } from '../../web/scheduling/timers.ts';
import type { ReadableStreamDefaultReader, WritableStreamDefaultWriter } from '../../web/streams/streams.ts';
import { Buffer } from '../buffer/buffer.ts';
import { checkFunction, checkNumber, codeError, invalidArgType } from '../errors.ts';
import type { Listener } from '../events/emitter.ts';
import { type Done, Duplex, defineClass, type NodeReadable, type NodeWritable } from '../http/streams.ts';
import { nextTick } from '../process/ticks.ts';
import { notSupported } from '../unsupported.ts';
import { isIP } from './addresses.ts';

export type { OpenSocket };

export interface ConnectOptions {
  readonly host?: string;
  readonly port?: number | string;
  readonly path?: string;
  readonly timeout?: number;
  readonly signal?: { addEventListener(type: string, listener: () => void): void; readonly aborted: boolean };
  readonly [name: string]: unknown;
}

export interface NodeSocket extends NodeReadable, NodeWritable {
  connecting: boolean;
  pending: boolean;
  bytesRead: number;
  bytesWritten: number;
  timeout: number | undefined;
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  remoteFamily: string | undefined;
  _web: OpenSocket | undefined;
  _reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  _writer: WritableStreamDefaultWriter<unknown> | undefined;
  _timer: number | undefined;
  connect(...args: unknown[]): this;
}

export interface SocketConstructor<T extends NodeSocket = NodeSocket> {
  new (options?: object): T;
  (this: unknown, options?: object): T | undefined;
  readonly prototype: T;
}

function construct(this: NodeSocket | undefined, options: ConnectOptions = {}): NodeSocket | undefined {
  if (!(this instanceof Socket)) return new Socket(options);
  if (options.fd !== undefined || options.handle !== undefined) {
    throw notSupported('net', 'new Socket() with a descriptor or a handle', 'Connect a socket to an address');
  }
  Duplex.call(this, { allowHalfOpen: options.allowHalfOpen === true, autoDestroy: true, emitClose: false });
  for (const name of ['_web', '_reader', '_writer', '_timer']) {
    Object.defineProperty(this, name, { value: undefined, enumerable: false, writable: true });
  }
  this.connecting = false;
  this.pending = true;
  this.bytesRead = 0;
  this.bytesWritten = 0;
  this.timeout = undefined;
  if (options.signal !== undefined) {
    const abort = (): void => void this.destroy(codeError(Error, 'ABORT_ERR', 'The operation was aborted'));
    if (options.signal.aborted) queueMicrotask(abort);
    else options.signal.addEventListener('abort', abort);
  }
  return undefined;
}

/** A function, as in Node: older code calls it without `new`. */
export const Socket = construct as unknown as SocketConstructor;

/** The arguments of connect(): options, or a port and a host, and a listener. */
export function normalizeConnect(args: readonly unknown[]): { options: ConnectOptions; listener: unknown } {
  const [first, second] = args;
  const last = args.at(-1);
  const listener = typeof last === 'function' ? last : undefined;
  if (typeof first === 'object' && first !== null) return { options: first as ConnectOptions, listener }; // its members are checked
  if (typeof first === 'string' && Number.isNaN(Number(first))) return { options: { path: first }, listener };
  const port = first as number; // checked by portOf()
  return { options: typeof second === 'string' ? { port, host: second } : { port }, listener };
}

/** Options about the machine of the host. */
const UNAVAILABLE = ['path', 'localAddress', 'localPort', 'lookup'];

export function addressOf(module: string, options: ConnectOptions): { hostname: string; port: number } {
  for (const name of UNAVAILABLE) {
    if (options[name] === undefined) continue;
    throw notSupported(module, `connect() with the option "${name}"`, 'Connect to a host and a port');
  }
  const { host = 'localhost', port } = options;
  if (typeof host !== 'string') throw invalidArgType('hostname', 'string', host);
  if (port === undefined) {
    throw codeError(TypeError, 'ERR_MISSING_ARGS', 'The "options" or "port" or "path" argument must be specified');
  }
  const number = Number(port);
  if (port === '' || !Number.isInteger(number) || number < 0 || number > 65_535) {
    const received = typeof port === 'string' ? `'${port}'` : String(port);
    const message = `Port should be >= 0 and < 65536. Received type ${typeof port} (${received}).`;
    throw codeError(RangeError, 'ERR_SOCKET_BAD_PORT', message);
  }
  return { hostname: host, port: number };
}

/** Uses the streams of a connection, which is opening or open. */
export function adopt(socket: NodeSocket, web: OpenSocket): void {
  socket._web = web;
  socket._reader = (web.readable as never as { getReader(): typeof socket._reader }).getReader(); // a stream of bytes
  socket._writer = (web.writable as never as { getWriter(): typeof socket._writer }).getWriter(); // it takes bytes
  web.closed.catch((error: Error) => void socket.destroy(error));
}

/** Gives the streams back, for TLS. */
export function release(socket: NodeSocket): OpenSocket | undefined {
  const web = socket._web;
  const { _reader: reader, _writer: writer } = socket;
  socket._web = undefined;
  socket._reader = undefined;
  socket._writer = undefined;
  reader?.releaseLock();
  writer?.releaseLock();
  return web;
}

function touch(socket: NodeSocket): void {
  if (socket._timer !== undefined) stopTimer(socket._timer);
  socket._timer = undefined;
  if (!socket.timeout || socket.destroyed) return;
  socket._timer = startTimer(socket.timeout, () => void socket.emit('timeout'));
}

/** Calls `then` when the connection is open; never when it fails, which destroys the socket. */
function whenConnected(socket: NodeSocket, then: () => void): void {
  if (socket.connecting) socket.once('connect', then);
  else then();
}

defineClass('Socket', Socket, Duplex, {
  connect(this: NodeSocket, ...args: unknown[]) {
    const { options, listener } = normalizeConnect(args);
    const address = addressOf('net', options);
    // TLS may take the connection over later.
    const web = connect(address, { secureTransport: 'starttls', allowHalfOpen: true });
    if (listener !== undefined) this.once('connect', listener as Listener); // a function
    if (options.timeout !== undefined) (this as unknown as Timed).setTimeout(options.timeout);
    openWith(this, web);
    return this;
  },
  setTimeout(this: NodeSocket, ms: number, onTimeout?: unknown) {
    checkNumber(ms, 'msecs', 0);
    if (onTimeout !== undefined) {
      checkFunction(onTimeout, 'callback');
      if (ms === 0)
        this.removeListener('timeout', onTimeout as Listener); // checked
      else this.once('timeout', onTimeout as Listener); // checked
    }
    this.timeout = ms;
    touch(this);
    return this;
  },
  /** The connection is the host's, which chooses these. */
  setNoDelay(this: NodeSocket) {
    return this;
  },
  setKeepAlive(this: NodeSocket) {
    return this;
  },
  /** A connection ends with its invocation, and keeps no process alive. */
  ref(this: NodeSocket) {
    return this;
  },
  unref(this: NodeSocket) {
    return this;
  },
  address(): object {
    return {};
  },
  resetAndDestroy(this: NodeSocket) {
    return this.destroy();
  },
  destroySoon(this: NodeSocket) {
    if (!this.writableEnded) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => void this.destroy());
  },
  get readyState(): string {
    const { connecting, readable, writable } = this as unknown as { [name: string]: boolean }; // the prototype of sockets
    if (connecting) return 'opening';
    if (readable) return writable ? 'open' : 'readOnly';
    return writable ? 'writeOnly' : 'closed';
  },
  _read(this: NodeSocket) {
    whenConnected(this, () => {
      const reader = this._reader;
      reader?.read().then(
        ({ done, value }) => {
          if (this._reader !== reader) return;
          touch(this);
          this.bytesRead += value?.byteLength ?? 0;
          this.push(done || value === undefined ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength));
        },
        (error: Error) => {
          // TLS has taken the connection over, or the socket has it no longer.
          if (this._reader === reader) this.destroy(error);
        },
      );
    });
  },
  _write(this: NodeSocket, chunk: Uint8Array, _encoding: string, done: Done) {
    whenConnected(this, () => {
      touch(this);
      this.bytesWritten += chunk.byteLength;
      if (this._writer === undefined) done(codeError(Error, 'EPIPE', 'This socket is not connected'));
      else this._writer.write(chunk).then(() => done(), done);
    });
  },
  _final(this: NodeSocket, done: Done) {
    whenConnected(this, () => {
      if (this._writer === undefined) done();
      else this._writer.close().then(() => done(), done);
    });
  },
  _destroy(this: NodeSocket, error: Error | null, done: Done) {
    this.connecting = false;
    if (this._timer !== undefined) stopTimer(this._timer);
    const { _reader: reader, _writer: writer } = this;
    this._reader = undefined;
    this._writer = undefined;
    reader?.cancel().catch(() => {});
    if (!this.writableFinished) writer?.abort(error ?? undefined).catch(() => {});
    done(error);
    // After the event of the error.
    nextTick(() => void this.emit('close', error !== null));
  },
});

interface Timed {
  setTimeout(ms: number): unknown;
}

/** @param events after 'connect', besides 'ready' */
export function openWith(socket: NodeSocket, web: OpenSocket, events: readonly string[] = []): void {
  socket.connecting = true;
  socket.pending = true;
  adopt(socket, web);
  touch(socket);
  web.opened.then(
    ({ remoteAddress }) => {
      if (socket.destroyed) return;
      const at = remoteAddress.lastIndexOf(':');
      const name = remoteAddress.slice(0, at).replace(/^\[|\]$/g, '');
      socket.connecting = false;
      socket.pending = false;
      socket.remoteAddress = name;
      socket.remotePort = Number(remoteAddress.slice(at + 1));
      socket.remoteFamily = isIP(name) === 6 ? 'IPv6' : 'IPv4';
      socket.emit('connect');
      socket.emit('ready');
      for (const event of events) socket.emit(event);
      // The end of a connection is noticed without a listener of data.
      (socket as unknown as { read(size: number): unknown }).read(0); // every readable stream has it
    },
    (error: Error) => void socket.destroy(error),
  );
}
