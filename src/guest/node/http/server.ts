/** Server and createServer(): requests come from a fetch handler, see {@link handleAsNodeRequest}. @see https://nodejs.org/api/http.html#class-httpserver */
import type { Request } from '../../web/fetch/request.ts';
import type { Response } from '../../web/fetch/response.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { URL } from '../../web/url/url.ts';
import { checkFunction, checkObject, codeError, invalidArgType } from '../errors.ts';
import { type Emitter, EventEmitter, type Listener } from '../events/emitter.ts';
import { notSupported } from '../unsupported.ts';
import { httpSocket } from './http-socket.ts';
import { fillMessage, IncomingMessage } from './incoming-message.ts';
import { ServerResponse } from './server-response.ts';
import { defineClass } from './streams.ts';

export interface Server extends Emitter {
  listening: boolean;
  timeout: number;
  keepAliveTimeout: number;
  headersTimeout: number;
  requestTimeout: number;
  maxHeadersCount: number | null;
  maxRequestsPerSocket: number;
  _port: number | undefined;
  listen(...args: unknown[]): this;
  address(): object | null;
  close(done?: (error?: Error) => void): this;
}

interface ServerConstructor {
  new (options?: unknown, listener?: unknown): Server;
  (this: unknown, options?: unknown, listener?: unknown): Server | undefined;
  readonly prototype: Server;
}

/** The servers of this isolate that listen, by port. No port of the machine is opened. */
const servers = new Map<number, Server>();
const MAX_PORT = 65_535;
const FIRST_FREE_PORT = 49_152;

function construct(this: Server | undefined, options?: unknown, given?: unknown): Server | undefined {
  if (!(this instanceof Server)) return new Server(options, given);
  const listener = typeof options === 'function' ? options : given;
  if (typeof options !== 'function' && options !== undefined && options !== null) checkObject(options, 'options');
  EventEmitter.call(this);
  this.listening = false;
  this.timeout = 0;
  this.keepAliveTimeout = 5000;
  this.headersTimeout = 60_000;
  this.requestTimeout = 300_000;
  this.maxHeadersCount = null;
  this.maxRequestsPerSocket = 0;
  this._port = undefined;
  if (listener !== undefined) {
    checkFunction(listener, 'requestListener');
    this.on('request', listener as Listener); // checked
  }
  return undefined;
}

/** A function, as in Node: older code calls it without `new`. */
export const Server = construct as unknown as ServerConstructor;

function portOf(given: unknown): number {
  const port = given === undefined || given === null || given === '' ? 0 : Number(given);
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    const message = `options.port should be >= 0 and < 65536. Received ${typeof given} (${String(given)}).`;
    throw codeError(RangeError, 'ERR_SOCKET_BAD_PORT', message);
  }
  if (port > 0) return port;
  let free = FIRST_FREE_PORT;
  while (servers.has(free)) free++;
  return free;
}

defineClass('Server', Server, EventEmitter as never, {
  listen(this: Server, ...args: unknown[]) {
    const last = args.at(-1);
    if (typeof last === 'function') this.once('listening', last as Listener); // checked
    const [first] = args;
    const options =
      typeof first === 'object' && first !== null
        ? (first as { port?: unknown; path?: unknown; fd?: unknown })
        : { port: first }; // any object can be read from
    const isPath = typeof options.port === 'string' && Number.isNaN(Number(options.port));
    if (isPath || options.path !== undefined || options.fd !== undefined) {
      throw notSupported('http', 'listen() on a path or a descriptor', 'Listen on a port');
    }
    if (this.listening) {
      throw codeError(
        Error,
        'ERR_SERVER_ALREADY_LISTEN',
        'Listen method has been called more than once without closing.',
      );
    }
    const port = portOf(typeof options.port === 'function' ? undefined : options.port);
    if (servers.has(port)) {
      const error = codeError(Error, 'EADDRINUSE', `listen EADDRINUSE: address already in use :::${port}`);
      queueMicrotask(() => void this.emit('error', Object.assign(error, { syscall: 'listen', port })));
      return this;
    }
    servers.set(port, this);
    this._port = port;
    this.listening = true;
    queueMicrotask(() => void this.emit('listening'));
    return this;
  },
  address(this: Server) {
    return this._port === undefined ? null : { address: '127.0.0.1', family: 'IPv4', port: this._port };
  },
  close(this: Server, done?: (error?: Error) => void) {
    const error = this.listening ? undefined : codeError(Error, 'ERR_SERVER_NOT_RUNNING', 'Server is not running.');
    if (this._port !== undefined) servers.delete(this._port);
    this._port = undefined;
    this.listening = false;
    queueMicrotask(() => {
      if (error === undefined) this.emit('close');
      done?.(error);
    });
    return this;
  },
  /** Connections are the host's. */
  closeAllConnections() {},
  closeIdleConnections() {},
  getConnections(done: (error: null, count: number) => void) {
    queueMicrotask(() => done(null, 0));
  },
  setTimeout(this: Server, ms?: number, onTimeout?: Listener) {
    this.timeout = ms ?? 0;
    if (onTimeout !== undefined) this.on('timeout', onTimeout);
    return this;
  },
  ref(this: Server) {
    return this;
  },
  unref(this: Server) {
    return this;
  },
});

export function createServer(options?: unknown, listener?: unknown): Server {
  return new Server(options, listener);
}

/** Answers a request by the server that listens on the port. */
export async function handleAsNodeRequest(port: unknown, request: Request): Promise<Response> {
  if (typeof port !== 'number') throw invalidArgType('port', 'number', port);
  const server = servers.get(port);
  if (server === undefined) {
    const all = [...servers.keys()].join(', ');
    const known = all === '' ? 'no server listens' : `servers listen on ${all}`;
    throw new Error(
      `No server of the function listens on port ${port}: ${known}. Call server.listen(${port}) at first`,
    );
  }
  return respond(server, request, port);
}

function respond(server: Server, request: Request, port: number): Promise<Response> {
  if (request.headers.get('upgrade') !== null && server.listenerCount('upgrade') > 0) {
    throw notSupported('http', 'the event "upgrade" of a server', 'Answer with a WebSocketPair from a fetch handler');
  }
  const url = new URL(request.url);
  return new Promise((resolve, reject) => {
    const socket = httpSocket({
      encrypted: url.protocol === 'https:',
      remoteAddress: request.client?.address,
      localPort: port,
      onDestroy: error => {
        res.destroy(error);
        req.destroy(error);
      },
    });
    const req = new IncomingMessage(socket);
    req.method = request.method;
    req.url = `${url.pathname}${url.search}`;
    fillMessage(req, request);
    if (req.headers.host === undefined) req.headers.host = url.host;
    // Libraries read a body only when a header announces it.
    if (req._reader !== undefined && req.headers['content-length'] === undefined) {
      req.headers['transfer-encoding'] = 'chunked';
      req.rawHeaders.push('transfer-encoding', 'chunked');
    }
    const res = new ServerResponse(req);
    res.socket = socket;
    res.connection = socket;
    res._deliver = resolve;
    // This changes nothing once the head of the answer was sent.
    res.once('close', () => reject(res._failure ?? new Error('The response was destroyed before its head was sent')));
    let isWatched = false;
    const watch = (name: unknown, awaited: string): void => {
      if (name !== awaited || isWatched) return;
      isWatched = true;
      request.signal.addEventListener('abort', () => {
        if (!req.complete) req.aborted = true;
        req.emit('aborted');
        socket.destroy();
      });
    };
    // A handler that waits for its client never stalls, so the host is asked about the client only when code wants to know.
    req.on('newListener', name => watch(name, 'aborted'));
    res.on('newListener', name => watch(name, 'close'));
    if (!server.emit('request', req, res)) {
      reject(new Error(`The server on port ${port} has no listener of "request"`));
    }
  });
}

interface Handler {
  fetch(request: Request): Promise<Response>;
}

/** A fetch handler that answers by a server: `export default httpServerHandler({ port: 8080 })`, or with the server itself. */
export function httpServerHandler(target: unknown, handlers: object = {}): Handler {
  checkObject(target, 'server or options');
  checkObject(handlers, 'handlers');
  let port: unknown;
  if (target instanceof Server) {
    if (!target.listening) target.listen(0);
    port = target._port;
  } else ({ port } = target as { port?: unknown }); // any object can be read from
  if (typeof port !== 'number') throw invalidArgType('port', 'number', port);
  return { ...handlers, fetch: request => handleAsNodeRequest(port, request) };
}
