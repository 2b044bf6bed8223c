/** The modules that functions import without deploying them. Part of `edgehost/worker` and of `edgehost/worker/dom`. */

/** The type of `env` of `edgehost:workers`: declare the members of your function's environment in it. */
interface FunctionEnv {
  readonly [name: string]: unknown;
}

// In every realm of functions; TypeScript's library has them from ESNext on.
interface SymbolConstructor {
  readonly dispose: unique symbol;
  readonly asyncDispose: unique symbol;
}

declare module 'edgehost:workers' {
  /**
   * The class of a function's entrypoints: `export default class extends FunctionEntrypoint<Env> { ... }`. It is constructed for each event and for each
   * call, with the context and the environment of handlers. Other functions call its methods and read its getters.
   */
  export abstract class FunctionEntrypoint<Env = FunctionEnv, Props = object> {
    constructor(context: ExecutionContext<Props>, env: Env);
    protected readonly ctx: ExecutionContext<Props>;
    protected readonly env: Env;
  }

  /**
   * The class of stateful objects: `export class Room extends StatefulObject<Env> { ... }`. One instance is made for each object that is called, and handles
   * all of its events: `fetch(request)`, methods that are called, `alarm(info)`, and of WebSockets that sleep `webSocketMessage(socket, message)`,
   * `webSocketClose(socket, code, reason, wasClean)` and `webSocketError(socket, error)`.
   */
  export abstract class StatefulObject<Env = FunctionEnv> {
    constructor(context: StatefulObjectState, env: Env);
    protected readonly ctx: StatefulObjectState;
    protected readonly env: Env;
    webSocketMessage?(socket: WebSocket, message: string | ArrayBuffer): void | Promise<void>;
    /** `code` 1005 for a close without one, 1006 for a connection that has ended without a close. The close is answered already. */
    webSocketClose?(socket: WebSocket, code: number, reason: string, wasClean: boolean): void | Promise<void>;
    /** In place of a close: the client has sent bytes that are no message, or has not taken the messages that were sent to it. */
    webSocketError?(socket: WebSocket, error: unknown): void | Promise<void>;
  }

  /** The class of objects that are passed by reference: who gets one gets a stub, and calls its methods where it is. */
  export abstract class RpcTarget implements RpcTargetLike {
    readonly '~rpcTarget'?: true;
  }

  /** Not supported: workflows can be exported, so that the rest of a program runs, and never run (EDGE_NOT_SUPPORTED). */
  export abstract class WorkflowEntrypoint<Env = FunctionEnv, Params = unknown> {
    constructor(context: ExecutionContext, env: Env);
    protected readonly ctx: ExecutionContext;
    protected readonly env: Env;
    run(event: Readonly<{ payload: Params; timestamp: Date; instanceId: string }>, step: unknown): Promise<unknown>;
  }

  /** The environment of the function, also outside of its handlers. */
  export const env: FunctionEnv;

  /** As `ctx.exports`. It has its members when the main module has been evaluated. */
  export const exports: OwnExports;

  /** As `ctx.waitUntil()` of the event that the calling code runs for. */
  export function waitUntil(promise: Promise<unknown>): void;
}

declare module 'cloudflare:workers' {
  export * from 'edgehost:workers';
  export { FunctionEntrypoint as WorkerEntrypoint, StatefulObject as DurableObject } from 'edgehost:workers';
}

interface SocketAddress {
  readonly hostname: string;
  readonly port: number;
}

interface SocketOptions {
  /** 'starttls': TLS begins with `startTls()`. @default 'off' */
  readonly secureTransport?: 'off' | 'on' | 'starttls';
  /** The function may continue to write when the other end has ended. @default false */
  readonly allowHalfOpen?: boolean;
  /** Bytes that may wait to be sent before `desiredSize` of the writer falls to zero. @default 16384 */
  readonly highWaterMark?: number;
}

interface SocketInfo {
  /** `address:port` of the other end. */
  readonly remoteAddress?: string;
  readonly localAddress?: string;
}

interface TlsOptions {
  /** The name that the certificate must be for. @default the host of the socket */
  readonly expectedServerHostname?: string;
}

interface Socket {
  readonly readable: ReadableStream<Uint8Array>;
  /** Takes buffers, views and strings. */
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView | string>;
  /** Resolves when the connection is open; rejects when it cannot be opened. */
  readonly opened: Promise<SocketInfo>;
  /** Resolves when the socket is closed; rejects when the connection is lost. */
  readonly closed: Promise<void>;
  /** Whether `startTls()` was called, after which this socket is of no use. */
  readonly upgraded: boolean;
  readonly secureTransport: 'off' | 'on' | 'starttls';
  /** Sends all written bytes, reads no more, and closes. */
  close(): Promise<void>;
  startTls(options?: TlsOptions): Socket;
}

declare module 'edgehost:sockets' {
  /** Opens a TCP socket. It is there at once; written bytes are sent when the connection is open. */
  export function connect(address: string | SocketAddress, options?: SocketOptions): Socket;
}

/** Not supported: the constructor throws (EDGE_NOT_SUPPORTED). */
declare module 'cloudflare:email' {
  export class EmailMessage {
    constructor(from: string, to: string, raw: ReadableStream | string);
    readonly from: string;
    readonly to: string;
  }
}

declare module 'cloudflare:workflows' {
  /** The error by which a step of a workflow says that it is not to be repeated. There are no workflows here. */
  export class NonRetryableError extends Error {
    constructor(message?: string, name?: string);
  }
}

declare module 'edgehost:node' {
  /** The object `Server` of `node:http`. It listens on a port of the function, which no other code can reach. */
  interface NodeServer {
    listen(...args: never[]): unknown;
  }
  /**
   * A fetch handler that answers by a server of `node:http`: `export default httpServerHandler({ port: 8080 })`.
   *
   * @param handlers other handlers of the function
   */
  export function httpServerHandler<H extends object = object>(
    server: NodeServer | { readonly port: number },
    handlers?: H,
  ): H & { fetch(request: Request): Promise<Response> };
  /** Answers one request by the server that listens on the port. Rejects when none does. */
  export function handleAsNodeRequest(port: number, request: Request): Promise<Response>;
}

declare module 'cloudflare:node' {
  export * from 'edgehost:node';
}

declare module 'cloudflare:sockets' {
  export * from 'edgehost:sockets';
}
