import type { RecordOperation } from './counts.js';
import { storageError } from './storage-error.js';

/** Writes one batch so that it survives a loss of power when the promise resolves. */
export type BatchWriter = (operations: RecordOperation[]) => Promise<void>;

interface Waiting {
  readonly operations: readonly RecordOperation[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** The commits of one owner that wait, in the order in which they came. */
interface Owner {
  readonly waiting: Waiting[];
  /** In the group that is being made. */
  operations: number;
  bytes: number;
}

/**
 * Group commit: while one synced batch is being written, the writes that come gather into the next, and share its fsync.
 * A group is written whole or not at all, and its writes resolve or reject together.
 *
 * Owners take turns: each gives one commit to a group, then each a second one. While several wait, what one of them has in a group is bounded, and
 * a commit larger than that (a thousand keys deleted at once) has a group only every other time when small ones wait. So a commit waits for the
 * group that is being written and at most one more, whatever another owner has waiting.
 */
export class CommitQueue {
  /** A group ends at this many operations, so that the memory of a batch and the time to write it stay bounded. */
  static readonly MAX_GROUP_OPERATIONS = 1024;
  static readonly MAX_GROUP_BYTES = 4 * 2 ** 20;
  /** The part of one owner in a group, while others wait. */
  static readonly OWNER_OPERATIONS = 256;
  static readonly OWNER_BYTES = 2 ** 20;

  /** So long a rider waits for a commit to ride on, in milliseconds. */
  static readonly RIDE_MS = 1000;

  readonly #write: BatchWriter;
  readonly #rideMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Those with commits that wait, in the order of their turns. */
  readonly #owners = new Map<object, Owner>();
  /** Whether a large commit was passed over by the group before. */
  #isLargeDue = false;
  /** Operations that need no answer and no fsync of their own: they ride on the next group. */
  #riders: RecordOperation[] = [];
  #running: Promise<void> | undefined;

  constructor(write: BatchWriter, options: { readonly rideMs?: number } = {}) {
    this.#write = write;
    this.#rideMs = options.rideMs ?? CommitQueue.RIDE_MS;
  }

  /** Resolves when the operations, all of them, are on disk. Commits of one owner are written in the order in which they came. */
  commit(operations: readonly RecordOperation[], owner: object = NOBODY): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = { operations, bytes: bytesOf(operations), resolve, reject };
      const known = this.#owners.get(owner);
      if (known === undefined) this.#owners.set(owner, { waiting: [waiting], operations: 0, bytes: 0 });
      else known.waiting.push(waiting);
      this.#running ??= this.#run();
    });
  }

  /** Writes the operations a little later: work that is done again after a crash, such as removing what is left over. */
  ride(operations: readonly RecordOperation[]): void {
    for (const operation of operations) this.#riders.push(operation);
    if (this.#riders.length >= CommitQueue.MAX_GROUP_OPERATIONS) this.#running ??= this.#run();
    if (this.#running !== undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#riders.length > 0) this.#running ??= this.#run();
    }, this.#rideMs);
    this.#timer.unref();
  }

  /** Waits until everything that was given is written; failures of riders are left for the next opening. */
  async drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#riders.length > 0) this.#running ??= this.#run();
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#owners.size > 0 || this.#riders.length > 0) {
      const group = this.#takeGroup();
      const operations = this.#riders;
      this.#riders = [];
      for (const waiting of group) {
        for (const operation of waiting.operations) operations.push(operation);
      }
      try {
        await this.#write(operations);
        for (const waiting of group) waiting.resolve();
      } catch (error) {
        const reason = storageError('write to the storage', error);
        for (const waiting of group) waiting.reject(reason);
      }
    }
    this.#running = undefined;
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

  /** The large commit of the owner whose turn it is, which has nothing else in the group then. */
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

  /** Who gave nothing to the group is before those who did. */
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

/** Of commits that nobody is asked for: those of the storage itself. */
const NOBODY: object = {};

/** Whether the commit has room in a group that is being made. A group is never empty because a commit is larger than all bounds. */
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

/** Larger than the part of one owner. */
function isLarge({ operations, bytes }: Waiting): boolean {
  return operations.length > CommitQueue.OWNER_OPERATIONS || bytes > CommitQueue.OWNER_BYTES;
}

function bytesOf(operations: readonly RecordOperation[]): number {
  let bytes = 0;
  for (const operation of operations) if (operation.type === 'put') bytes += operation.value.byteLength;
  return bytes;
}
