/**
 * The calls of the application to the backend process: their arguments and results, which are values as in values.ts. A call is an exchange. Its
 * head is `[name, ...arguments]`, and the answer is the result, or the error.
 */

import type { EdgeErrorCode } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { ServiceId } from '../../quotas/service-calls.js';
import type { StoredSum } from '../../storage/accounts/account-sum.js';
import type { RecountedSum } from '../../storage/accounts/account-sums.js';
import type { LevelOperation } from '../../storage/records/level-database.js';
import type { KeyRange } from '../../usage/usage-records.js';

/** How an exchange is answered: the status of its reply. */
export enum ReplyStatus {
  /** The head is the result, and where it is long its bytes and the body, too: packets.ts. */
  Result = 0,
  /** The head is the error, like a result. */
  Error = 1,
  /** The head is the result, and the body stands beside it. */
  ResultWithBody = 2,
}

/** The properties that do not change while the storage is open. */
export interface StoreDescription {
  readonly recounted: readonly RecountedSum[];
  /** The file of the key; undefined for one in memory. */
  readonly secretsKeyPath: string | undefined;
}

/** The first argument of a call of an engine. One that has an identity is named by that, too: a later one of the same name is another. */
export interface EngineAddress {
  readonly account: string;
  readonly name: string;
  readonly id?: string;
}

/** The answer of a method whose result has `content` or `body`, which is the body of the answer: bindings/contract.ts. */
export interface ContentAnswer {
  /** The result without it. */
  readonly rest: object;
  readonly offset: number;
  readonly length: number;
}

/** A result with `content` whose bytes are part of the value. */
export interface WholeContent {
  readonly rest: object;
  readonly bytes: Uint8Array;
}

/** An option that is called when the body was read: MethodTerms.atEnd. */
export type AtEnd = () => Promise<unknown>;

/** In the place of that option: its result comes as ApplicationSignal.Trailer, before the end of the body. */
export const TRAILER = 'trailer';

/** The service that the application's own client of a binding calls. */
export interface ServiceAddress {
  readonly binding: ServiceId;
  readonly account: string;
  /** As the schema of the row has checked it. */
  readonly config: unknown;
  readonly limits: ResolvedLimits;
}

/** A range of a database, with keys as bytes. */
export interface LevelPageQuery {
  readonly gt?: Uint8Array;
  readonly gte?: Uint8Array;
  readonly lt?: Uint8Array;
  readonly lte?: Uint8Array;
  readonly reverse: boolean;
  readonly keys: boolean;
  readonly values: boolean;
  /** The most entries of a page; fewer when they are large. */
  readonly size: number;
}

export interface LevelPage {
  /** A key or a value that was not asked for is empty. */
  readonly entries: readonly (readonly [key: Uint8Array, value: Uint8Array])[];
  /** There are no more. */
  readonly isLast: boolean;
  /** The last key of the page; undefined for an empty one. */
  readonly last: Uint8Array | undefined;
}

export type LevelChange =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array };

/** The current part of a removal: */
export interface RemovalOrder {
  readonly account: string;
  readonly code: EdgeErrorCode;
  readonly message: string;
  readonly deleteData: boolean;
}

/**
 * Calls of the storage and of the process itself. Calls with a contract have names that their clients make: engines of bindings by `<row>.directory.<method>`
 * and `<row>.engine.<method>` (contract-client.ts), parts of the storage by `<part>.<method>` (remote-part.ts).
 */
export interface RemoteCalls {
  'store.describe': () => StoreDescription;
  'store.stored': (account: string) => StoredSum;
  'key.read': () => Uint8Array | 'missing' | 'damaged';
  'key.create': () => Uint8Array;
  'records.get': (key: string) => Buffer | undefined;
  'records.getMany': (keys: string[]) => (Buffer | undefined)[];
  'records.commit': (operations: readonly LevelOperation[]) => undefined;
  /** An empty page is the end; a page may have less than `size` records before it. */
  'records.page': (range: KeyRange, size: number) => [string, Buffer][];
  'records.keys': (range: KeyRange, size: number) => string[];
  'sublevel.get': (name: string, key: string) => unknown;
  'sublevel.put': (name: string, key: string, value: unknown) => undefined;
  /** Resolves when the application holds all of them, under the number. */
  'locks.take': (number: number, keys: readonly string[]) => undefined;
  'locks.give': (number: number) => undefined;
  /** Resolves when all applications have the options. */
  'account.update': (account: string, update: Readonly<Record<string, unknown>>) => undefined;
  'removal.unfinished': () => string[];
  /** Resolves with a number for the removal when the application must remove data beside the storage. */
  'removal.begin': (order: RemovalOrder) => number;
  /** The application has done so; or it has failed, and so does the removal. */
  'removal.finish': (removal: number, failure: Error | undefined) => undefined;
  /** Resolves when the space is free. */
  'removal.deleted': (removal: number) => undefined;
  'level.exists': (name: string) => boolean;
  'level.getMany': (name: string, keys: readonly Uint8Array[]) => (Uint8Array | undefined)[];
  'level.batch': (name: string, changes: readonly LevelChange[], sync: boolean) => undefined;
  'level.page': (name: string, query: LevelPageQuery) => LevelPage;
  'level.compact': (name: string, from: string, to: string) => undefined;
  /** From here on the number stands for the service: calls of it have the head `[number, method, arguments, has a body]`. */
  'service.open': (service: number, address: ServiceAddress) => undefined;
  'service.close': (service: number) => undefined;
}

export type CallName = keyof RemoteCalls;
export type CallArguments<Name extends CallName> = Parameters<RemoteCalls[Name]>;
export type CallResult<Name extends CallName> = ReturnType<RemoteCalls[Name]>;

/** Calls that change nothing, or nothing more when they are repeated: they are retried when the connection was lost. */
export const SAFE_CALLS: ReadonlySet<CallName> = new Set<CallName>([
  'store.describe',
  'store.stored',
  'key.read',
  'records.get',
  'records.getMany',
  'records.page',
  'records.keys',
  'sublevel.get',
  // With the process all locks were lost.
  'locks.take',
  'locks.give',
  'account.update',
  'removal.unfinished',
  'level.exists',
  'level.getMany',
  'level.page',
  'level.compact',
]);
