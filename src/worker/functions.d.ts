/** What functions have of EdgeHost: handlers, their arguments, and bindings. Part of `edgehost/worker` and of `edgehost/worker/dom`. */
import type * as bucket from '../bindings/bucket/types.js';

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
    /** Of the connection to the host: 'HTTP/1.0', 'HTTP/1.1' or 'HTTP/2'. */
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

  // Handlers and their arguments.

  /** The third argument of handlers. */
  interface ExecutionContext<Props = object> {
    /** Keeps the invocation open until the promise settles, also when the answer has been sent: for 30 seconds at most after the client has gone. */
    waitUntil(promise: Promise<unknown>): void;
    /** When the handler fails, the request goes on to the application instead of becoming an error. */
    passThroughOnException(): void;
    /** The props of `load()`, or those that the application gave with this request: a copy. */
    readonly props: Props;
  }

  /** Why a scheduled handler runs. */
  interface ScheduledController {
    readonly type: 'scheduled';
    /** The cron expression, empty when there was none. */
    readonly cron: string;
    /** Milliseconds since the epoch. */
    readonly scheduledTime: number;
    noRetry(): void;
  }

  interface QueueRetryOptions {
    /** From now, up to 43,200 (12 hours). @default 0 */
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

  /** The default export of a module: `export default { ... } satisfies ExportedHandler<Env>`. */
  interface ExportedHandler<Env = unknown, QueueBody = unknown> {
    fetch?: ExportedHandlerFetchHandler<Env>;
    scheduled?: ExportedHandlerScheduledHandler<Env>;
    queue?: ExportedHandlerQueueHandler<Env, QueueBody>;
    alarm?: ExportedHandlerAlarmHandler<Env>;
  }
}
