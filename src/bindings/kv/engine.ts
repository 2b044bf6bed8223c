import type { CallWork } from '../../quotas/host/call-work.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import type { ServiceBody } from '../service.js';
import type { StoredContent } from '../stored-values/stored-content.js';

/**
 * The operations of a namespace, on plain data: the one interface behind the binding, `host.kv()` and the management API. Times are seconds since
 * 1970. Keys have no lone surrogates; the callers check all arguments.
 */

/** A key without its value. */
export interface KvEntry {
  readonly key: string;
  /** JSON. */
  readonly metadata?: string;
  readonly expiration?: number;
}

/** A key with its value, as `get` found it. */
export interface KvFound extends Omit<KvEntry, 'key'> {
  /** The size of the value, in bytes. */
  readonly size: number;
  readonly content: StoredContent;
}

export interface KvWriteOptions {
  readonly metadata?: string | undefined;
  readonly expiration?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The most that the account may have stored then. @default no bounds */
  readonly bounds?: StorageBounds | undefined;
}

export interface KvQuery {
  /** 1 to 1000. */
  readonly limit: number;
  readonly prefix?: string | undefined;
  /** The key that the last page ended with. */
  readonly after?: string | undefined;
}

export interface KvPage {
  readonly entries: readonly KvEntry[];
  /** The key that the page ends with; absent when it is the last one. */
  readonly last?: string;
}

/**
 * The host's work for a call is charged to its `work`. A call without takes turns as one more user of the account of the namespace, and has no bounds. Each
 * rejects with 20002 when the namespace was deleted, and with the errors of the storage.
 */
export interface KvEngine {
  readonly name: string;
  /** null: there is no such key, or it has expired. */
  get(key: string, work?: CallWork): Promise<KvFound | null>;
  /** In the order of the keys. Rejects with 20004 when the values together are larger than one call returns. */
  getMany(keys: readonly string[], work?: CallWork): Promise<(KvFound | null)[]>;
  /** Durable when it resolves. Rejects with 20004, and with EDGE_STORAGE_QUOTA where there are `bounds`. */
  put(key: string, body: ServiceBody, options: KvWriteOptions, work?: CallWork): Promise<void>;
  delete(key: string, work?: CallWork): Promise<void>;
  list(query: KvQuery, work?: CallWork): Promise<KvPage>;
}

export interface KvInfo {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

/** The namespaces of one account. */
export interface KvDirectory {
  /** Opens the namespace, and creates it when it does not exist. Rejects with 20001 and 20003 like `create`. */
  open(name: string): Promise<KvEngine>;
  /** null when there is no such namespace. */
  find(name: string): Promise<KvEngine | null>;
  create(name: string): Promise<{ readonly created: boolean }>;
  /** With all that is in it: nothing finds its keys when this resolves, and their space is freed in the background. Rejects with 20002. */
  delete(name: string): Promise<void>;
  list(): Promise<KvInfo[]>;
}
