import { guarded } from '../../quotas/guarded.js';
import { storageError } from '../files/storage-error.js';
import type { RecordOperation } from './counts.js';

/** Writes one batch so that it survives a loss of power when the promise resolves. */
export type BatchWriter = (operations: RecordOperation[]) => Promise<void>;

interface Waiting {
  readonly operations: readonly RecordOperation[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** The waiting commits of one owner, in the order of arrival. */
interface Owner {
  readonly waiting: Waiting[];
  /** Its part of the group that is being made. */
  operations: number;
  bytes: number;
}

/**
 * Group commit: while one synced batch is being written, the writes that come gather into the next, and share its fsync.
 * A group is written whole or not at all, and its writes resolve or reject together.
 *
 * Owners take turns: each adds one commit to a group, then each a second one. While several wait, the part of one of them in a group is bounded. A
 * commit larger than that bound (a thousand keys deleted at once) gets at most every other group when small ones wait. So a commit waits for the
 * group that is being written and at most one more, however much another owner has waiting.
 */
export class CommitQueue {
  /**
   * Bounds the memory of a batch, the time to write it, and the number of writers that continue at once when it is written. With 1024, a flood of queue
   * messages repeatedly kept the event loop busy for 30 ms, with this 16 (Node 20.20).
   */
  static readonly MAX_GROUP_OPERATIONS = 384;
  static readonly MAX_GROUP_BYTES = 4 * 2 ** 20;
  /** The part of one owner in a group, while others wait. */
  static readonly OWNER_OPERATIONS = 256;
  static readonly OWNER_BYTES = 2 ** 20;

  /** Deferred operations that no commit took along are written after this time, in milliseconds. */
  static readonly DEFER_MAX_MS = 1000;

  readonly #write: BatchWriter;
  readonly #deferMaxMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Owners with waiting commits, in the order of their turns. */
  readonly #owners = new Map<object, Owner>();
  /** Whether the previous group passed over a large commit. */
  #isLargeDue = false;
  /** Operations that are not awaited: they are written with the next group and need no fsync of their own. */
  #deferred: RecordOperation[] = [];
  #running: Promise<void> | undefined;

  constructor(write: BatchWriter, options: { readonly deferMaxMs?: number } = {}) {
    this.#write = write;
    this.#deferMaxMs = options.deferMaxMs ?? CommitQueue.DEFER_MAX_MS;
  }

  /** Resolves when all the operations are on disk. Commits of one owner are written in the order of arrival. */
  commit(operations: readonly RecordOperation[], owner: object = STORAGE): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = { operations, bytes: bytesOf(operations), resolve, reject };
      const existing = this.#owners.get(owner);
      if (existing === undefined) this.#owners.set(owner, { waiting: [waiting], operations: 0, bytes: 0 });
      else existing.waiting.push(waiting);
      this.#running ??= this.#run();
    });
  }

  /** Writes the operations with the next commit, or DEFER_MAX_MS later. For work that a crash may undo, such as removing leftovers. */
  enqueueDeferred(operations: readonly RecordOperation[]): void {
    for (const operation of operations) this.#deferred.push(operation);
    if (this.#deferred.length >= CommitQueue.MAX_GROUP_OPERATIONS) this.#running ??= this.#run();
    if (this.#running !== undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(
      guarded(() => {
        this.#timer = undefined;
        if (this.#deferred.length > 0) this.#running ??= this.#run();
      }),
      this.#deferMaxMs,
    );
    this.#timer.unref();
  }

  /** Waits until all waiting operations are written. Deferred ones that failed are done again at the next opening. */
  async drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#deferred.length > 0) this.#running ??= this.#run();
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#owners.size > 0 || this.#deferred.length > 0) {
      const group = this.#takeGroup();
      const deferred = this.#deferred;
      const operations = [...deferred];
      this.#deferred = [];
      for (const waiting of group) {
        for (const operation of waiting.operations) operations.push(operation);
      }
      try {
        await this.#write(operations);
        for (const waiting of group) waiting.resolve();
      } catch (error) {
        const reason = storageError('write to the storage', error);
        // One of them counts in a record that is damaged. The others do not suffer for it.
        if (reason.code === 'EDGE_STORAGE_CORRUPT' && group.length > 1) await this.#writeApart(group, deferred);
        else for (const waiting of group) waiting.reject(reason);
      }
    }
    this.#running = undefined;
  }

  async #writeApart(group: readonly Waiting[], deferred: RecordOperation[]): Promise<void> {
    await this.#write(deferred).catch(() => {});
    for (const waiting of group) {
      try {
        await this.#write([...waiting.operations]);
        waiting.resolve();
      } catch (error) {
        waiting.reject(storageError('write to the storage', error));
      }
    }
  }

  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    const size = { operations: 0, bytes: 0 };
    const isShared = this.#owners.size > 1;
    if (isShared && this.#isLargeDue) this.#takeLarge(group);
    for (let hasMore = true; hasMore; ) {
      hasMore = false;
      for (const owner of this.#owners.values()) {
        const next = owner.waiting[0];
        if (next === undefined || !hasRoom(size, group.length, owner, next, isShared)) continue;
        owner.waiting.shift();
        group.push(next);
        size.operations += next.operations.length;
        size.bytes += next.bytes;
        owner.operations += next.operations.length;
        owner.bytes += next.bytes;
        hasMore = true;
      }
    }
    if (group.length === 0) this.#takeLarge(group);
    else this.#isLargeDue = isShared && this.#largeOwner() !== undefined;
    this.#endTurns();
    return group;
  }

  /** Adds the large commit of the owner whose turn it is. */
  #takeLarge(group: Waiting[]): void {
    const owner = this.#largeOwner();
    const next = owner?.waiting.shift();
    if (owner === undefined || next === undefined) return;
    group.push(next);
    owner.operations += next.operations.length;
    owner.bytes += next.bytes;
  }

  #largeOwner(): Owner | undefined {
    for (const owner of this.#owners.values()) {
      const [next] = owner.waiting;
      if (next !== undefined && isLarge(next)) return owner;
    }
    return undefined;
  }

  /** Owners that have a commit in the group go behind those that have none. */
  #endTurns(): void {
    const served: [object, Owner][] = [];
    for (const [key, owner] of this.#owners) {
      if (owner.waiting.length === 0) this.#owners.delete(key);
      else if (owner.operations > 0) served.push([key, owner]);
      owner.operations = 0;
      owner.bytes = 0;
    }
    for (const [key, owner] of served) {
      this.#owners.delete(key);
      this.#owners.set(key, owner);
    }
  }
}

/** The owner of the storage's own commits. */
const STORAGE: object = {};

/** Whether the commit fits into the group that is being made. The first commit of a group always fits. */
function hasRoom(
  group: { readonly operations: number; readonly bytes: number },
  commits: number,
  owner: Owner,
  { operations, bytes }: Waiting,
  isShared: boolean,
): boolean {
  const count = operations.length;
  if (
    isShared &&
    (owner.operations + count > CommitQueue.OWNER_OPERATIONS || owner.bytes + bytes > CommitQueue.OWNER_BYTES)
  ) {
    return false;
  }
  if (commits === 0) return true;
  return (
    group.operations + count <= CommitQueue.MAX_GROUP_OPERATIONS && group.bytes + bytes <= CommitQueue.MAX_GROUP_BYTES
  );
}

/** Whether the commit is larger than the part of one owner in a shared group. */
function isLarge({ operations, bytes }: Waiting): boolean {
  return operations.length > CommitQueue.OWNER_OPERATIONS || bytes > CommitQueue.OWNER_BYTES;
}

function bytesOf(operations: readonly RecordOperation[]): number {
  let bytes = 0;
  for (const operation of operations) if (operation.type === 'put') bytes += operation.value.byteLength;
  return bytes;
}
