/**
 * The calls of the application to the services process: their arguments and results, which are values as in values.ts. A call is an exchange. Its
 * head is `[name, ...arguments]`, and the answer is the result, or the error.
 */

import type {
  BucketInfo,
  ByteRange,
  CompletedUpload,
  Condition,
  ListPage,
  ListQuery,
  ObjectRecord,
  PartRecord,
  PutOptions,
  TransferChecksum,
  UploadOptions,
  UploadRecord,
  UploadRules,
} from '../../bindings/bucket/engine.js';
import type { StoreStorageClass } from '../../bindings/bucket/types.js';
import type {
  CacheHit,
  CachePurge,
  CachePutOptions,
  CacheQuery,
  CacheUsage,
  KeptResponse,
} from '../../bindings/cache/engine.js';
import type { CronClaim, CronTarget, CronWish } from '../../bindings/cron/cron-claims.js';
import type { KvFound, KvInfo, KvPage, KvPutOptions, KvQuery } from '../../bindings/kv/engine.js';
import type { AlarmFunction, AlarmOutcome, ClaimedAlarm } from '../../bindings/objects/alarm-claims.js';
import type { ObjectNamespaceInfo, ObjectPage } from '../../bindings/objects/store/object-directory.js';
import type {
  ClaimedMessage,
  OutgoingMessage,
  PullRequest,
  QueueInfo,
  QueueMetrics,
  QueueSettings,
  ReceiveRequest,
  SettleRequest,
  SettleResult,
} from '../../bindings/queue/broker.js';
import type { ServiceId } from '../../bindings/service-id.js';
import type { AppliedMigration, SqlBounds, SqlInfo } from '../../bindings/sql/engine.js';
import type { EdgeErrorCode } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { StorageBounds, StoredSum } from '../../storage/accounts/account-sum.js';
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

/** What does not change while the storage is open. */
export interface StoreDescription {
  readonly recounted: readonly RecountedSum[];
  /** The file of the key; undefined for one in memory. */
  readonly secretsKeyPath: string | undefined;
}

/** A bucket is named by its id, too: one that was made later with the same name is another. */
export interface BucketAddress {
  readonly account: string;
  readonly name: string;
  readonly id: string;
}

export interface OpenedBucket {
  readonly id: string;
  readonly storageClass: StoreStorageClass;
}

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
  /** At most so many entries; fewer when they are large. */
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

/** What a put has beside the body. */
export type PutArguments = Omit<PutOptions, 'signal' | 'transferChecksum'> & {
  /** The checksum is known; or it comes as ApplicationSignal.Trailer, before the end of the body. */
  readonly transferChecksum?: TransferChecksum | 'trailer' | undefined;
};

export interface GetOptions {
  readonly condition?: Condition;
  readonly range?: ByteRange;
}

export interface UploadQuery {
  readonly prefix?: string;
  readonly afterKey?: string;
  readonly afterUploadId?: string;
  readonly limit: number;
}

/** A key-value namespace, or a queue: the one that has the name when the call is made. */
export interface NamedAddress {
  readonly account: string;
  readonly name: string;
}

/** A value of a namespace that is read as a whole. */
export interface KvValue extends Omit<KvFound, 'content'> {
  readonly bytes: Uint8Array;
}

/** What a function of an account has used more on a day, as the record of its counters is written. */
export type UsageEntry = readonly [account: string, name: string, day: number, counters: string];

/** "minute:<its number>:<account>" or "day:…" | how many requests the application has counted of it, in all. */
export type OwnCount = readonly [key: string, count: number];

/** The part of a removal that is under way: 'beside' is the step of the application. */
export interface RemovalOrder {
  readonly account: string;
  readonly code: EdgeErrorCode;
  readonly message: string;
  readonly deleteData: boolean;
}

/** Calls whose bodies, if they have any, are part of their values. */
export interface ValueCalls {
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
  'crons.track': (
    target: Pick<CronTarget, 'account' | 'function'>,
    crons: readonly string[],
    sinceMs: number,
  ) => readonly (number | undefined)[];
  'crons.claim': (owner: string, wishes: readonly CronWish[]) => readonly CronClaim[];
  'crons.finished': (owner: string, target: CronTarget) => undefined;
  'crons.left': (owner: string) => undefined;
  'alarms.serve': (owner: string, served: AlarmFunction) => undefined;
  'alarms.drop': (owner: string, served: AlarmFunction) => undefined;
  /** Resolves when there are some. */
  'alarms.claim': (owner: string, most: number) => readonly ClaimedAlarm[];
  'alarms.settle': (owner: string, claim: number, outcome: AlarmOutcome) => undefined;
  'alarms.left': (owner: string) => undefined;
  'objects.claim': (owner: string, of: AlarmFunction) => boolean;
  'objects.release': (owner: string, of: AlarmFunction) => undefined;
  'objects.left': (owner: string) => undefined;
  /** Resolves when the application holds all of them, under the number. */
  'locks.take': (number: number, keys: readonly string[]) => undefined;
  'locks.give': (number: number) => undefined;
  /** Resolves when all applications have the options. */
  'account.update': (account: string, update: Readonly<Record<string, unknown>>) => undefined;
  'removal.unfinished': () => string[];
  /** Resolves with a number for the removal when the application has to remove what is beside the storage. */
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
  'directory.open': (account: string, name: string) => OpenedBucket;
  'directory.find': (account: string, name: string) => OpenedBucket | null;
  'directory.create': (account: string, name: string, storageClass: StoreStorageClass | undefined) => boolean;
  'directory.delete': (account: string, name: string) => undefined;
  'directory.list': (account: string) => BucketInfo[];
  'bucket.head': (bucket: BucketAddress, key: string) => ObjectRecord | null;
  'bucket.delete': (bucket: BucketAddress, keys: readonly string[]) => undefined;
  'bucket.list': (bucket: BucketAddress, query: ListQuery) => ListPage;
  'bucket.createUpload': (bucket: BucketAddress, key: string, options: UploadOptions & UploadRules) => UploadRecord;
  'bucket.completeUpload': (
    bucket: BucketAddress,
    key: string,
    uploadId: string,
    parts: readonly { readonly partNumber: number; readonly etag: string }[],
    options: { readonly condition?: Condition; readonly transferChecksum?: TransferChecksum },
  ) => ObjectRecord;
  'bucket.abortUpload': (bucket: BucketAddress, key: string, uploadId: string) => undefined;
  'bucket.findCompleted': (bucket: BucketAddress, key: string, uploadId: string) => CompletedUpload | null;
  'bucket.findUpload': (bucket: BucketAddress, key: string, uploadId: string) => UploadRecord | null;
  'bucket.listParts': (
    bucket: BucketAddress,
    uploadId: string,
    after: number,
    limit: number,
  ) => { parts: PartRecord[]; truncated: boolean };
  'bucket.listUploads': (bucket: BucketAddress, query: UploadQuery) => { uploads: UploadRecord[]; truncated: boolean };
  /** Makes the namespace when it does not exist. */
  'kv.open': (namespace: NamedAddress) => undefined;
  'kv.exists': (namespace: NamedAddress) => boolean;
  'kv.create': (namespace: NamedAddress) => boolean;
  'kv.remove': (namespace: NamedAddress) => undefined;
  'kv.namespaces': (account: string) => KvInfo[];
  'kv.getMany': (namespace: NamedAddress, keys: readonly string[]) => (KvValue | null)[];
  'kv.delete': (namespace: NamedAddress, key: string) => undefined;
  'kv.list': (namespace: NamedAddress, query: KvQuery) => KvPage;
  'cache.delete': (account: string, cache: string, url: string) => boolean;
  'cache.purge': (account: string, purge: CachePurge) => { readonly purged: number };
  'cache.usage': (account: string) => CacheUsage;
  /** Makes the queue when it does not exist. */
  'queue.open': (queue: NamedAddress) => QueueInfo;
  'queue.find': (queue: NamedAddress) => QueueInfo | null;
  'queue.create': (queue: NamedAddress, settings: Partial<QueueSettings>) => boolean;
  'queue.remove': (queue: NamedAddress) => undefined;
  'queue.list': (account: string) => readonly QueueInfo[];
  'queue.send': (
    queue: NamedAddress,
    messages: readonly OutgoingMessage[],
    options: { readonly method: string; readonly bounds?: StorageBounds | undefined },
  ) => readonly string[];
  /**
   * Waits for a batch. One application at a time receives from a queue: the others wait until it has nothing under way, or is gone. `receipt` names the call
   * for `queue.stopReceiving`; without messages it was stopped.
   */
  'queue.receive': (
    queue: NamedAddress,
    receipt: number,
    request: Omit<ReceiveRequest, 'signal'>,
  ) => readonly ClaimedMessage[];
  'queue.stopReceiving': (receipt: number) => undefined;
  'queue.pull': (queue: NamedAddress, request: PullRequest) => readonly ClaimedMessage[];
  'queue.settle': (queue: NamedAddress, request: SettleRequest) => SettleResult;
  'queue.metrics': (queue: NamedAddress) => QueueMetrics;
  'queue.backlog': (queue: NamedAddress) => Omit<QueueMetrics, 'oldestMessageTimestamp'>;
  'queue.change': (queue: NamedAddress, settings: Partial<QueueSettings>) => QueueInfo;
  'queue.purge': (queue: NamedAddress) => number;
  /** Makes the database when it does not exist. */
  'sql.open': (database: NamedAddress, bounds: SqlBounds | undefined) => undefined;
  'sql.exists': (database: NamedAddress) => boolean;
  'sql.create': (database: NamedAddress, bounds: SqlBounds | undefined) => boolean;
  'sql.remove': (database: NamedAddress) => undefined;
  'sql.list': (account: string) => SqlInfo[];
  'sql.migrate': (database: NamedAddress, name: string, sql: string, bounds: SqlBounds | undefined) => boolean;
  'sql.migrations': (database: NamedAddress) => readonly AppliedMigration[];
  'objectStorage.namespaces': (account: string) => ObjectNamespaceInfo[];
  'objectStorage.list': (
    account: string,
    namespace: ObjectNamespaceInfo,
    limit: number,
    after: string | undefined,
  ) => ObjectPage;
  'objectStorage.delete': (account: string, namespace: ObjectNamespaceInfo, id: string) => boolean;
  /** Adds a message of the sender, unless it has been added. */
  'usage.add': (sender: string, number: number, entries: readonly UsageEntry[]) => undefined;
  /** The sender sends nothing more. */
  'usage.left': (sender: string) => undefined;
  /** Adds up what the accounts have had stored until now. */
  'usage.measure': (accounts: readonly string[]) => undefined;
  /** What the application itself has counted. Resolves, for each, with the sum of all applications then. */
  'counts.set': (application: string, counts: readonly OwnCount[]) => number[];
  'counts.read': (key: string) => number;
  /** From here on the number stands for the service: calls of it have the head `[number, method, arguments, has a body]`. */
  'service.open': (service: number, address: ServiceAddress) => undefined;
  'service.close': (service: number) => undefined;
}

/** Calls beside a body: of the request for those that write, of the answer for those that read. */
export interface BodyCalls {
  'bucket.put': (bucket: BucketAddress, key: string, options: PutArguments) => ObjectRecord | null;
  'bucket.uploadPart': (
    bucket: BucketAddress,
    key: string,
    uploadId: string,
    partNumber: number,
    options: PutArguments,
  ) => PartRecord;
  'bucket.get': (bucket: BucketAddress, key: string, options: GetOptions) => GetAnswer;
  'kv.get': (namespace: NamedAddress, key: string) => Omit<KvFound, 'content'> | null;
  'kv.put': (namespace: NamedAddress, key: string, options: Omit<KvPutOptions, 'signal'>) => undefined;
  'cache.match': (account: string, query: CacheQuery) => MatchAnswer;
  /** `hasBody`: an empty body is not the same as none. */
  'cache.put': (
    account: string,
    response: KeptResponse,
    hasBody: boolean,
    options: Omit<CachePutOptions, 'signal'>,
  ) => boolean;
  'sql.export': (database: NamedAddress) => undefined;
  'sql.backup': (database: NamedAddress) => undefined;
  /** The number of statements. */
  'sql.import': (database: NamedAddress, bounds: SqlBounds | undefined) => number;
  'sql.restore': (database: NamedAddress, bounds: SqlBounds | undefined) => undefined;
}

export type MatchAnswer =
  | { readonly kind: 'miss'; readonly epoch: number }
  | (Omit<CacheHit, 'body'> & { readonly hasBody: boolean });

export type GetAnswer =
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly object: ObjectRecord }
  | { readonly kind: 'found'; readonly object: ObjectRecord; readonly offset: number; readonly length: number };

export type RemoteCalls = ValueCalls & BodyCalls;
export type CallName = keyof RemoteCalls;
export type CallArguments<Name extends CallName> = Parameters<RemoteCalls[Name]>;
export type CallResult<Name extends CallName> = ReturnType<RemoteCalls[Name]>;

/** Calls that change nothing, and those that change nothing more when they are repeated: made again when the connection was lost. */
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
  'directory.open',
  'directory.find',
  'directory.list',
  'bucket.head',
  'bucket.get',
  'bucket.list',
  'bucket.findCompleted',
  'bucket.findUpload',
  'bucket.listParts',
  'bucket.listUploads',
  'kv.open',
  'kv.exists',
  'kv.namespaces',
  'kv.get',
  'kv.getMany',
  'kv.list',
  'cache.match',
  'cache.usage',
  'queue.open',
  'queue.find',
  'queue.list',
  'queue.metrics',
  'queue.backlog',
  'sql.open',
  'sql.exists',
  'sql.list',
  'sql.migrations',
  'sql.export',
  'sql.backup',
  'objectStorage.namespaces',
  'objectStorage.list',
  'usage.add',
  'usage.left',
  'usage.measure',
  'counts.set',
  'counts.read',
]);
