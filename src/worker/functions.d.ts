/** The types of EdgeHost for functions: handlers, their arguments, and bindings. Part of `edgehost/worker` and of `edgehost/worker/dom`. */
import type * as bucket from '../bindings/bucket/types.js';
import type * as kv from '../bindings/kv/types.js';
import type * as sql from '../bindings/sql/types.js';

type Awaitable<T> = T | Promise<T>;

declare global {
  // Bindings: what the environment of a function has, a paragraph for each row of the registry.

  /** A bucket binding: `env.FILES`. */
  type StoreBucket = bucket.StoreBucket;
  type StoreChecksums = bucket.StoreChecksums;
  type StoreConditional = bucket.StoreConditional;
  type StoreGetOptions = bucket.StoreGetOptions;
  type StoreHTTPMetadata = bucket.StoreHTTPMetadata;
  type StoreListOptions = bucket.StoreListOptions;
  type StoreMultipartOptions = bucket.StoreMultipartOptions;
  type StoreMultipartUpload = bucket.StoreMultipartUpload;
  type StoreObject = bucket.StoreObject;
  type StoreObjectBody = bucket.StoreObjectBody;
  type StoreObjects = bucket.StoreObjects;
  type StorePutOptions = bucket.StorePutOptions;
  type StoreRange = bucket.StoreRange;
  type StoreStorageClass = bucket.StoreStorageClass;
  type StoreUploadedPart = bucket.StoreUploadedPart;
  type StoreValue = bucket.StoreValue;

  /** An SQL database: `env.DB`. */
  type SqlDatabase = sql.SqlDatabase;
  type SqlExecResult = sql.SqlExecResult;
  type SqlMeta = sql.SqlMeta;
  type SqlResult<Row = Record<string, unknown>> = sql.SqlResult<Row>;
  type SqlSession = sql.SqlSession;
  type SqlStatement = sql.SqlStatement;
  type SqlValue = sql.SqlValue;

  /** A key-value namespace: `env.SESSIONS`. */
  type KvNamespace = kv.KvNamespace;
  type KvBulkValueWithMetadata<Value, Metadata> = kv.KvBulkValueWithMetadata<Value, Metadata>;
  type KvGetOptions<Type extends kv.KvValueType = kv.KvValueType> = kv.KvGetOptions<Type>;
  type KvListKey<Metadata = unknown> = kv.KvListKey<Metadata>;
  type KvListOptions = kv.KvListOptions;
  type KvListResult<Metadata = unknown> = kv.KvListResult<Metadata>;
  type KvPutOptions = kv.KvPutOptions;
  type KvValue = kv.KvValue;
  type KvValueType = kv.KvValueType;
  type KvValueWithMetadata<Value, Metadata> = kv.KvValueWithMetadata<Value, Metadata>;

  /** How the body of a queue message is written. */
  type QueueContentType = 'json' | 'text' | 'bytes' | 'v8';

  interface QueueSendOptions {
    /** `text` takes a string, `bytes` a view of bytes. @default 'json', and 'v8' before the compatibility date 2024-03-18 */
    readonly contentType?: QueueContentType;
    /** From 0 to 43,200. @default the delay of the binding, else of the queue */
    readonly delaySeconds?: number;
  }

  interface MessageSendRequest<Body = unknown> extends QueueSendOptions {
    readonly body: Body;
  }

  interface QueueMetrics {
    /** Messages that are not done. */
    readonly backlogCount: number;
    /** Their bodies. */
    readonly backlogBytes: number;
    /** When the message was sent that is delivered next. */
    readonly oldestMessageTimestamp?: Date;
  }

  interface QueueSendResponse {
    readonly metadata: { readonly metrics: QueueMetrics };
  }

  /** A queue binding: `env.JOBS`. */
  interface StoreQueue<Body = unknown> {
    /** Resolves when the message is on disk: at most 128,000 bytes. */
    send(body: Body, options?: QueueSendOptions): Promise<QueueSendResponse>;
    /** 1 to 100 messages, 256,000 bytes together. Resolves when all are on disk; none is when it rejects. */
    sendBatch(
      messages: Iterable<MessageSendRequest<Body>>,
      options?: { readonly delaySeconds?: number },
    ): Promise<QueueSendResponse>;
    metrics(): Promise<QueueMetrics>;
  }

  /** The name of a queue binding on the hosted platform. */
  type Queue<Body = unknown> = StoreQueue<Body>;

  // Requests.

  /**
   * The client of a request. It is not part of the standard. The headers `edge-client-ip`, `edge-client-proxy-ip`, `edge-client-http`,
   * `edge-client-tls-version` and `edge-client-tls-cipher` have the same values; a caller cannot set headers that begin with `edge-client-`.
   */
  interface RequestClient {
    /** The visitor's IP address, as the owner of the host knows it: behind proxies by its option `trustProxy`. */
    readonly address: string | undefined;
    /** The address of the proxy that the request came from, where there is one that the owner trusts. */
    readonly proxyAddress: string | undefined;
    /** The protocol of the connection to the host: 'HTTP/1.0', 'HTTP/1.1' or 'HTTP/2'. */
    readonly httpProtocol: string;
    /** Such as 'TLSv1.3'; undefined where TLS ends before the host. */
    readonly tlsVersion: string | undefined;
    /** Such as 'TLS_AES_256_GCM_SHA384', by the name of the standard. */
    readonly tlsCipher: string | undefined;
  }

  /**
   * A callback binding, `env.APP`, by the type of what the application gave to `load()`: `CallbackBinding<typeof callbacks>`, or by a type of your own:
   * `CallbackBinding<{ lookup(args: { id: number }): Promise<Customer> }>`.
   */
  type CallbackBinding<Callbacks> = {
    readonly [Name in keyof Callbacks]: Callbacks[Name] extends (...args: infer Args) => infer Result
      ? Args extends readonly []
        ? () => Promise<Awaited<Result>>
        : (args: Args[0]) => Promise<Awaited<Result>>
      : never;
  };

  /** Marks an `RpcTarget` for the compiler. The property does not exist. */
  interface RpcTargetLike {
    readonly '~rpcTarget'?: true;
  }

  /** Releases the object that it stands for in the function that it comes from. */
  interface RpcDisposable {
    [Symbol.dispose](): void;
  }

  /** The methods and getters of an object of another function: all are asynchronous. */
  type RpcMembers<T> = {
    readonly [Name in Exclude<
      keyof T,
      'fetch' | 'connect' | 'dup' | 'constructor' | '~rpcTarget' | symbol
    >]: T[Name] extends (...args: infer Args) => infer Result
      ? (...args: Args) => RpcPromise<Awaited<Result>>
      : RpcPromise<Awaited<T[Name]>>;
  };

  /** An object or a function that stays in another function: it is called there. `dup()` makes another stub for it, to be disposed of by itself. */
  type RpcStub<T> = (T extends (...args: infer Args) => infer Result
    ? (...args: Args) => RpcPromise<Awaited<Result>>
    : RpcMembers<T>) &
    RpcDisposable & { dup(): RpcStub<T> };

  /** A value as its receiver has it: a copy, with stubs for functions and for objects that extend `RpcTarget`. */
  type RpcValue<T> = T extends (...args: never[]) => unknown
    ? RpcStub<T>
    : T extends { readonly '~rpcTarget'?: true }
      ? '~rpcTarget' extends keyof T
        ? RpcStub<T>
        : RpcCopy<T>
      : T;
  type RpcCopy<T> = T extends
    | Date
    | Error
    | ArrayBuffer
    | ArrayBufferView
    | ReadableStream
    | WritableStream
    | Request
    | Response
    | Headers
    | Map<unknown, unknown>
    | Set<unknown>
    ? T
    : T extends object
      ? { [Name in keyof T]: RpcValue<T[Name]> }
      : T;

  /** The promise of a result. Methods and properties of the result can be called before it is there: `env.API.user(7).name()`. */
  type RpcPromise<T> = Promise<RpcValue<T>> & (T extends object ? RpcMembers<T> : unknown) & RpcDisposable;

  /** A service binding, `env.AUTH`, by the type of the class that it calls: `Service<Auth>`. Without one only `fetch()` is known. */
  type Service<Entrypoint = object> = RpcMembers<Entrypoint> & {
    /** Answered by the function, whatever host the URL names. */
    fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  };

  /** A loader, `env.LOADER`: code that the function loads at run time, in an isolate of its own. */
  interface WorkerLoader {
    /**
     * The code that was loaded under the id, in the isolate that has it. `getCode` is called when no isolate has it, and must return the same code for the same
     * id. The stub is there at once; its calls wait for the code, and fail when it cannot be loaded.
     *
     * @param id up to 1,024 characters; null for code that this invocation alone uses
     */
    get(id: string | null, getCode: () => Awaitable<WorkerLoaderCode>): WorkerStub;
    /** Code that this invocation alone uses. */
    load(code: WorkerLoaderCode): WorkerStub;
  }

  /** The content of a module, by its type. */
  type WorkerLoaderModule =
    | { readonly js: string }
    | { readonly text: string }
    | { readonly data: ArrayBuffer | ArrayBufferView }
    | { readonly json: unknown };

  interface WorkerLoaderCode {
    /** `YYYY-MM-DD`. @default the date of the function that loads the code */
    readonly compatibilityDate?: string;
    /** @default none */
    readonly compatibilityFlags?: readonly string[];
    /** The name of an ES module in `modules`. */
    readonly mainModule: string;
    /** By name, up to 1,000 of 32 MiB together. A string is an ES module, and its name ends in `.js`. */
    readonly modules: Readonly<Record<string, string | WorkerLoaderModule>>;
    /** Values that `structuredClone()` takes, up to 1 MiB, and up to 100 services: bindings, loaders, entrypoints of `ctx.exports`. @default {} */
    readonly env?: object;
    /** Answers every `fetch()`; null: no network. @default the network of the function that loads the code */
    readonly globalOutbound?: Service | null;
    /** Up to 10 services whose method `tail()` gets what the code has logged. @default none */
    readonly tails?: readonly Service[];
    /** @default the limits of the function that loads the code */
    readonly limits?: WorkerLoaderLimits;
  }

  /** Limits of an invocation, which can only be lowered. */
  interface WorkerLoaderLimits {
    readonly cpuMs?: number;
    readonly subRequests?: number;
  }

  /** Loaded code. */
  interface WorkerStub {
    /** @param name an export of the main module. @default 'default' */
    getEntrypoint<Entrypoint = object>(
      name?: string | null,
      options?: { readonly props?: object; readonly limits?: WorkerLoaderLimits },
    ): Service<Entrypoint>;
  }

  /** Names one object of a namespace. */
  interface StatefulId {
    /** The name that the id was made from; undefined for other ids. */
    readonly name?: string | undefined;
    equals(other: StatefulId): boolean;
    /** 64 hexadecimal digits, for `idFromString()`. */
    toString(): string;
  }

  /** A stateful object, by the type of its class: its methods can be called. Calls of one stub arrive in their order. */
  type StatefulStub<T = object> = RpcMembers<Omit<T, 'alarm'>> & {
    readonly id: StatefulId;
    readonly name?: string | undefined;
    /** Answered by the object's `fetch()`, whatever host the URL names. */
    fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  };

  /** The objects of a class, `env.ROOM`, by the type of the class: `StatefulNamespace<Room>`. */
  interface StatefulNamespace<T = object> {
    /** The id of the name: the same always. */
    idFromName(name: string): StatefulId;
    /** An id that nobody else has. */
    newUniqueId(): StatefulId;
    /** @throws TypeError for a text that is no id of this namespace */
    idFromString(id: string): StatefulId;
    /** A stub for the object. Nothing is called by making one. */
    get(id: StatefulId): StatefulStub<T>;
    getByName(name: string): StatefulStub<T>;
  }

  /** How a read or a write treats the gates of its object. */
  interface StatefulStorageOptions {
    /** Other events are delivered while the call is open. @default false */
    readonly allowConcurrency?: boolean;
    /** Answers and calls of the object do not wait for this write. @default false */
    readonly allowUnconfirmed?: boolean;
    /** It is not kept in memory. @default false */
    readonly noCache?: boolean;
  }

  interface StatefulListOptions extends StatefulStorageOptions {
    readonly start?: string;
    readonly startAfter?: string;
    /** Not included. */
    readonly end?: string;
    readonly prefix?: string;
    readonly reverse?: boolean;
    readonly limit?: number;
  }

  /** The operations of `ctx.storage` and of a transaction. Values are copied as by `structuredClone()`. */
  interface StatefulStorageOperations {
    get<T = unknown>(key: string, options?: StatefulStorageOptions): Promise<T | undefined>;
    get<T = unknown>(keys: readonly string[], options?: StatefulStorageOptions): Promise<Map<string, T>>;
    list<T = unknown>(options?: StatefulListOptions): Promise<Map<string, T>>;
    put<T>(key: string, value: T, options?: StatefulStorageOptions): Promise<void>;
    put<T>(entries: Readonly<Record<string, T>>, options?: StatefulStorageOptions): Promise<void>;
    delete(key: string, options?: StatefulStorageOptions): Promise<boolean>;
    delete(keys: readonly string[], options?: StatefulStorageOptions): Promise<number>;
    /** Milliseconds since the epoch; null when none is set. */
    getAlarm(options?: StatefulStorageOptions): Promise<number | null>;
    /** Milliseconds since the epoch, or a Date. Replaces the alarm that is set. */
    setAlarm(time: number | Date, options?: StatefulStorageOptions): Promise<void>;
    deleteAlarm(options?: StatefulStorageOptions): Promise<void>;
  }

  interface StatefulTransaction extends StatefulStorageOperations {
    rollback(): void;
  }

  /** The keys and values of `ctx.storage`, by methods whose answers are there when they return. */
  interface SyncKvStorage {
    get<T = unknown>(key: string): T | undefined;
    put<T>(key: string, value: T): void;
    /** Whether there was something. */
    delete(key: string): boolean;
    /** Pairs in the order of the keys' UTF-8 bytes. */
    list<T = unknown>(
      options?: Pick<StatefulListOptions, 'start' | 'startAfter' | 'end' | 'prefix' | 'reverse' | 'limit'>,
    ): IterableIterator<[string, T]>;
  }

  /** A value that SQL returns: a BLOB is an ArrayBuffer. */
  type SqlStorageValue = string | number | ArrayBuffer | null;
  /** A parameter of a statement. */
  type SqlStorageBinding = SqlStorageValue | boolean | ArrayBufferView | undefined;

  /** The rows of a text, from the first that was not taken yet. */
  interface SqlStorageCursor<Row extends Record<string, SqlStorageValue> = Record<string, SqlStorageValue>>
    extends IterableIterator<Row> {
    readonly columnNames: string[];
    /** The rows that were returned. */
    readonly rowsRead: number;
    /** The rows that were inserted, updated or deleted. */
    readonly rowsWritten: number;
    toArray(): Row[];
    /** @throws Error unless there is one row */
    one(): Row;
    /** The rows as arrays of values. */
    raw<Values extends SqlStorageValue[] = SqlStorageValue[]>(): IterableIterator<Values> & {
      readonly columnNames: string[];
      toArray(): Values[];
    };
  }

  /** A database of SQLite that the object has for itself. */
  interface SqlStorage {
    /**
     * Runs one statement or several, of which the last takes the values and gives the result. Its writes are stored together with the writes of the other
     * methods.
     * @throws Error with the text of SQLite
     */
    exec<Row extends Record<string, SqlStorageValue> = Record<string, SqlStorageValue>>(
      query: string,
      ...bindings: SqlStorageBinding[]
    ): SqlStorageCursor<Row>;
    /** In bytes. */
    readonly databaseSize: number;
  }

  interface StatefulStorage extends StatefulStorageOperations {
    readonly kv: SyncKvStorage;
    readonly sql: SqlStorage;
    deleteAll(options?: StatefulStorageOptions): Promise<void>;
    transaction<T>(callback: (transaction: StatefulTransaction) => Promise<T>): Promise<T>;
    transactionSync<T>(callback: () => T): T;
    /** Resolves when every write so far is on disk. */
    sync(): Promise<void>;
  }

  /** `ctx` of a stateful object. */
  interface StatefulObjectState {
    readonly id: StatefulId;
    readonly props: object;
    readonly storage: StatefulStorage;
    /** Keeps the event that the calling code runs for open until the promise settles. */
    waitUntil(promise: Promise<unknown>): void;
    /**
     * Calls the function, and delivers no event until it is done: after 30 seconds, or when it throws, the object is reset. For constructors that read the
     * storage.
     */
    blockConcurrencyWhile<R>(callback: () => Promise<R>): Promise<R>;
    /**
     * The WebSocket, one of a pair whose other one is returned in a Response, sleeps from now on: the host keeps it, no instance is needed for that, and its
     * messages are calls of webSocketMessage(). At most 10 tags of 256 characters; 32,768 sockets of one object.
     */
    acceptWebSocket(socket: WebSocket, tags?: Iterable<string>): void;
    /** The open WebSockets that acceptWebSocket() has accepted: all of them, or the ones with the tag. */
    getWebSockets(tag?: string): WebSocket[];
    /** The tags of a WebSocket that was accepted by acceptWebSocket(). */
    getTags(socket: WebSocket): string[];
    /** The host answers the request of the pair by itself, on each of these WebSockets, without waking the object. Without a pair it does no more. */
    setWebSocketAutoResponse(pair?: WebSocketRequestResponsePair): void;
    getWebSocketAutoResponse(): WebSocketRequestResponsePair | null;
    /** When the host has answered the WebSocket last, as of the last event of the object. */
    getWebSocketAutoResponseTimestamp(socket: WebSocket): Date | null;
    /** How long an event of these WebSockets may take until it is answered: 0 to 604,800,000 milliseconds; 0 or nothing for no bound of its own. */
    setHibernatableWebSocketEventTimeout(timeoutMs?: number): void;
    getHibernatableWebSocketEventTimeout(): number | null;
    /** Ends the instance: what it was doing fails with the reason, and the next call makes a new one. */
    abort(reason?: unknown): never;
  }

  // Handlers and their arguments.

  /** The third argument of handlers. */
  interface ExecutionContext<Props = object> {
    /** Keeps the invocation open until the promise settles, also when the answer has been sent: for 30 seconds at most after the client has gone. */
    waitUntil(promise: Promise<unknown>): void;
    /** When the handler fails, the application answers the request instead, in place of an error. */
    passThroughOnException(): void;
    /** The props of `load()`, or those that the application gave with this request: a copy. */
    readonly props: Props;
    /** The entrypoints of the function itself, by the name of their export: `ctx.exports.Admin({ props }).check()`. */
    readonly exports: OwnExports;
  }

  /** The entrypoints of a function as services, which can be called with `{ props }` for a service that has props. */
  interface OwnExports {
    readonly [name: string]: Service<any> & ((options?: { readonly props?: object }) => Service<any>);
  }

  /** Why a scheduled handler runs. */
  interface ScheduledController {
    readonly type: 'scheduled';
    /** The cron expression, empty when there was none. */
    readonly cron: string;
    /** Milliseconds since the epoch. */
    readonly scheduledTime: number;
    /** When this run fails, it is not to be run again: the host's events and its caller see that. */
    noRetry(): void;
  }

  interface QueueRetryOptions {
    /** From now, up to 43,200 (12 hours). @default the consumer's `retryDelaySeconds` */
    readonly delaySeconds?: number;
  }

  /** A message of a queue. */
  interface Message<Body = unknown> {
    readonly id: string;
    readonly timestamp: Date;
    /** 1 at the first delivery. */
    readonly attempts: number;
    readonly body: Body;
    /** The message is done, independent of the rest of the batch. */
    ack(): void;
    /** The message is delivered again. */
    retry(options?: QueueRetryOptions): void;
  }

  interface MessageBatch<Body = unknown> {
    readonly queue: string;
    readonly messages: readonly Message<Body>[];
    /** How much the queue held when the batch was made. */
    readonly metadata: { readonly metrics: QueueMetrics };
    ackAll(): void;
    retryAll(options?: QueueRetryOptions): void;
  }

  type ExportedHandlerFetchHandler<Env = unknown> = (
    request: Request,
    env: Env,
    context: ExecutionContext,
  ) => Awaitable<Response>;

  type ExportedHandlerScheduledHandler<Env = unknown> = (
    controller: ScheduledController,
    env: Env,
    context: ExecutionContext,
  ) => Awaitable<void>;

  type ExportedHandlerQueueHandler<Env = unknown, Body = unknown> = (
    batch: MessageBatch<Body>,
    env: Env,
    context: ExecutionContext,
  ) => Awaitable<void>;

  interface AlarmInfo {
    /** When the alarm was set for, in milliseconds since the epoch. */
    readonly scheduledTime: number;
    /** Deliveries before this one. */
    readonly retryCount: number;
    readonly isRetry: boolean;
  }

  type ExportedHandlerAlarmHandler<Env = unknown> = (
    info: AlarmInfo,
    env: Env,
    context: ExecutionContext,
  ) => Awaitable<void>;

  /** The record of an invocation of another function that is over. */
  interface TraceItem {
    readonly scriptName: string | null;
    readonly scriptVersion?: { readonly id: string };
    /** The id of the invocation, as in the events of the host. */
    readonly invocation: string;
    readonly entrypoint: string | null;
    readonly dispatchNamespace: string | null;
    readonly scriptTags: readonly string[];
    readonly durableObjectId: string | null;
    readonly executionModel: string;
    readonly outcome:
      | 'ok'
      | 'exception'
      | 'exceededCpu'
      | 'exceededMemory'
      | 'exceededWallTime'
      | 'canceled'
      | 'responseStreamDisconnected'
      | 'internalError';
    /** When it began, in milliseconds since the epoch. */
    readonly eventTimestamp: number | null;
    readonly event:
      | TraceItemFetchEventInfo
      | TraceItemScheduledEventInfo
      | TraceItemQueueEventInfo
      | TraceItemAlarmEventInfo
      | TraceItemJsRpcEventInfo
      | TraceItemHibernatableWebSocketEventInfo
      | TraceItemRunEventInfo
      | TraceItemTailEventInfo
      | null;
    readonly logs: readonly {
      readonly timestamp: number;
      readonly level: string;
      readonly message: readonly string[];
    }[];
    readonly exceptions: readonly {
      readonly timestamp: number;
      readonly name: string;
      readonly message: string;
      readonly stack?: string;
    }[];
    readonly diagnosticsChannelEvents: readonly never[];
    /** More was logged than the limit allows. */
    readonly truncated: boolean;
    /** Milliseconds. */
    readonly cpuTime: number;
    readonly wallTime: number;
  }

  interface TraceItemRequest {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly cf?: object;
  }

  interface TraceItemFetchEventInfo {
    /** Without what authenticates; `getUnredacted()` has the request as it was. */
    readonly request: TraceItemRequest & { getUnredacted(): TraceItemRequest };
    readonly response?: { readonly status: number };
  }

  interface TraceItemScheduledEventInfo {
    readonly cron: string;
    readonly scheduledTime: number;
  }

  interface TraceItemQueueEventInfo {
    readonly queue: string;
    readonly batchSize: number;
  }

  interface TraceItemAlarmEventInfo {
    readonly scheduledTime: Date;
  }

  interface TraceItemJsRpcEventInfo {
    readonly rpcMethod: string;
  }

  interface TraceItemHibernatableWebSocketEventInfo {
    readonly getWebSocketEvent: {
      readonly webSocketEventType: 'message' | 'close' | 'error';
      /** The code of a close. */
      readonly code?: number;
      readonly wasClean?: boolean;
    };
  }

  /** A run of a sandbox: the calls of tools that it has made, and their time in milliseconds. */
  interface TraceItemRunEventInfo {
    readonly run: { readonly toolCalls: number; readonly toolMs: number };
  }

  interface TraceItemTailEventInfo {
    readonly consumedEvents: readonly { readonly scriptName: string | null }[];
  }

  type ExportedHandlerTailHandler<Env = unknown> = (
    events: TraceItem[],
    env: Env,
    context: ExecutionContext,
  ) => Awaitable<void>;

  /** The default export of a module: `export default { ... } satisfies ExportedHandler<Env>`. */
  interface ExportedHandler<Env = unknown, QueueBody = unknown> {
    fetch?: ExportedHandlerFetchHandler<Env>;
    scheduled?: ExportedHandlerScheduledHandler<Env>;
    queue?: ExportedHandlerQueueHandler<Env, QueueBody>;
    alarm?: ExportedHandlerAlarmHandler<Env>;
    tail?: ExportedHandlerTailHandler<Env>;
  }
}
