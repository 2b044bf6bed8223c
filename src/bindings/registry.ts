/** The bindings of the package: the only list of them on the host's side. Beside it stand the types that the public API has of them. */

import { MAX_CALL_HEAD_BYTES } from '../quotas/service-calls.js';
import type { StorageOwner } from '../storage/storage-owner.js';
import type { AssetsOptions } from './assets/asset-options.js';
import { assetsBinding } from './assets/assets-binding.js';
import type { BindingDefinition, ImplicitBinding, NamedBinding } from './binding.js';
import { bucketBinding } from './bucket/bucket-binding.js';
import type { StoreBucket } from './bucket/types.js';
import { cacheBinding } from './cache/cache-binding.js';
import type { ApplicationCaches } from './cache/types.js';
import { callbackBinding } from './callbacks/callback-binding.js';
import type { ApplicationCallbacks } from './callbacks/types.js';
import { egressBinding } from './egress/egress-binding.js';
import { functionBinding, loopbackBinding, stubBinding } from './function/function-binding.js';
import type { ServiceTarget } from './function/types.js';
import { kvBinding } from './kv/kv-binding.js';
import type { KvNamespace } from './kv/types.js';
import { loaderBinding } from './loader/loader-binding.js';
import type { LoaderTarget } from './loader/types.js';
import { objectBinding } from './objects/object-binding.js';
import { objectSocketBinding } from './objects/object-socket-binding.js';
import { objectStorageBinding } from './objects/store/object-storage-binding.js';
import type { ObjectsTarget } from './objects/types.js';
import type { AccountQueue } from './queue/host-queue.js';
import { type QueueProducer, queueBinding } from './queue/queue-binding.js';
import { socketBinding } from './socket/socket-binding.js';
import type { AccountSqlDatabase } from './sql/host-sql.js';
import { sqlBinding } from './sql/sql-binding.js';
import { unavailableBinding } from './unavailable/unavailable-binding.js';
import { webSocketBinding } from './websocket/websocket-binding.js';

const BINDINGS: readonly BindingDefinition[] = [
  egressBinding,
  bucketBinding,
  cacheBinding,
  callbackBinding,
  kvBinding,
  queueBinding,
  socketBinding,
  functionBinding,
  stubBinding,
  loopbackBinding,
  loaderBinding,
  sqlBinding,
  webSocketBinding,
  objectBinding,
  objectStorageBinding,
  objectSocketBinding,
  unavailableBinding,
  assetsBinding,
];

/**
 * The areas of the permissions that tokens of the management API have for bindings, in the order of its document: `kv` stands for kv:read and kv:edit. A row
 * that this API administers adds its own.
 */
export const BINDING_AREAS = ['buckets', 'sql', 'kv', 'cache', 'objects', 'queues'] as const;

/** The options of load() that bind names: each row adds its `option`. */
export interface BindingOptions {
  /** Binding name to bucket name. */
  readonly buckets?: Readonly<Record<string, string>>;
  /** Binding name to the name, or id, of a key-value namespace. */
  readonly kv?: Readonly<Record<string, string>>;
  /**
   * Functions of the application that the function calls, by the name of the binding: `{ APP: { async lookup(args, context) { ... } } }` is
   * `await env.APP.lookup(args)` there.
   */
  readonly bindings?: Readonly<Record<string, ApplicationCallbacks>>;
  /** Other functions, by the name of the binding: `{ AUTH: 'auth' }` is `env.AUTH.fetch(request)` and `env.AUTH.method(...)` there. */
  readonly services?: Readonly<Record<string, string | ServiceTarget>>;
  /** Queues that the function sends to: binding name to queue name, or to `{ queue, deliveryDelaySeconds }`. */
  readonly queues?: Readonly<Record<string, string | QueueProducer>>;
  /** Binding name to the name of an SQL database. */
  readonly sql?: Readonly<Record<string, string>>;
  /** Classes of stateful objects: binding name to the name of a class that the function exports, or to `{ class, function }`. */
  readonly objects?: Readonly<Record<string, string | ObjectsTarget>>;
  /**
   * Services that the function expects and that do not exist here: binding name to the message of the error that its use throws, 1 to 1,000 characters.
   */
  readonly unavailable?: Readonly<Record<string, string>>;
  /** Loaders, by which the function loads code itself: `{ LOADER: {} }` is `env.LOADER.load({ mainModule, modules })` there. */
  readonly loaders?: Readonly<Record<string, LoaderTarget>>;
  /**
   * Static files that are served before the function: the path of their folder, or `{ directory, binding, ... }`. They are indexed when the function is loaded;
   * load it again when they have changed.
   */
  readonly assets?: string | AssetsOptions;
}

/**
 * The application's clients of an account's bindings: members of `Account`, and of `EdgeHost` for its default account. Each belongs to the row that names it as
 * `application`. Buckets and the like are created with their first use.
 */
export interface BindingClients {
  /** A bucket, for the application itself. */
  bucket(name: string): StoreBucket;
  /** A key-value namespace, for the application itself. */
  kv(name: string): KvNamespace;
  /** The caches of the account's functions, for the application itself: it reads how much they keep, and purges them. */
  readonly caches: ApplicationCaches;
  /** A queue, for the application itself. */
  queue(name: string): AccountQueue;
  /** An SQL database, for the application itself. */
  sql(name: string): AccountSqlDatabase;
}

export class BindingRegistry {
  readonly rows: readonly BindingDefinition[];
  /** Bindings that the configuration of a function names. */
  readonly named: readonly NamedBinding[];
  /** Bindings that every function has. */
  readonly implicit: readonly ImplicitBinding[];

  /** @throws TypeError when two rows have the same number or name, RangeError when a method's arguments would be too large */
  constructor(rows: readonly BindingDefinition[] = BINDINGS) {
    this.rows = rows;
    this.named = rows.filter(row => row.implicit !== true);
    this.implicit = rows.filter(row => row.implicit === true);
    checkDistinct('number', rows, row => row.id);
    checkDistinct('name', rows, row => row.name);
    checkDistinct('option', this.named, row => row.option);
    const withClients = rows.filter(row => row.application !== undefined);
    checkDistinct('application', withClients, row => row.application);
    const configurable = this.named.filter(row => row.toml !== undefined);
    checkDistinct('table', configurable, row => row.toml?.table);
    checkDistinct('managementType', configurable, row => row.managementType);
    for (const { name, methods } of rows) {
      for (const [method, { headBytes = 0 }] of Object.entries(methods)) {
        if (headBytes > MAX_CALL_HEAD_BYTES) {
          throw new RangeError(
            `Method ${method} of ${name} allows arguments of ${headBytes} bytes, a call has at most ${MAX_CALL_HEAD_BYTES}`,
          );
        }
      }
    }
  }

  /** The HTTP status of an error that is one of some binding. */
  errorStatus(error: unknown): number | undefined {
    for (const row of this.rows) {
      const status = row.errorStatus?.(error);
      if (status !== undefined) return status;
    }
    return undefined;
  }

  /** Restores the error with the code and the message, in another process; undefined when the code belongs to no binding. */
  errorFrom(code: string | number, message: string): Error | undefined {
    for (const row of this.rows) {
      const error = row.errorFrom?.(code, message);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  /** The owners of records in the storage of the host. */
  get storageOwners(): readonly StorageOwner[] {
    return this.rows.flatMap(({ storage }) => (storage === undefined ? [] : [storage]));
  }

  /** The same rows and more. */
  with(more: readonly BindingDefinition[]): BindingRegistry {
    return new BindingRegistry([...this.rows, ...more]);
  }
}

export const REGISTRY = new BindingRegistry();

function checkDistinct<Row extends BindingDefinition>(
  what: string,
  rows: readonly Row[],
  propertyOf: (row: Row) => unknown,
): void {
  const seen = new Map<unknown, string>();
  for (const row of rows) {
    const value = propertyOf(row);
    const other = seen.get(value);
    if (other !== undefined) throw new TypeError(`${other} and ${row.name} have the same ${what}, ${value}`);
    seen.set(value, row.name);
  }
}
