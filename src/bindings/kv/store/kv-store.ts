import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ServiceBody } from '../../service.js';
import { blobContent } from '../../stored-values/blob-content.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { bytesContent } from '../../stored-values/read-content.js';
import type { BodyObserver, BodyRules } from '../../stored-values/receive-body.js';
import type { StoredContent } from '../../stored-values/stored-content.js';
import { INLINE_BYTES } from '../../stored-values/value-sizes.js';
import { writeBody } from '../../stored-values/write-body.js';
import { WriteGate } from '../../stored-values/write-gate.js';
import type { KvEngine, KvFound, KvPage, KvQuery, KvWriteOptions } from '../engine.js';
import { KvError, kvError } from '../errors.js';
import { KV_LIMITS } from '../limits.js';
import { blobOf, decodeEntry, encodeEntry, expirationOf, sizeOf } from './entry-codec.js';
import { kvKeys } from './kv-keys.js';
import { listEntries } from './list-entries.js';

/** A namespace in a storage. */
export class KvStore implements KvEngine {
  readonly name: string;
  readonly #storage: StorageContext;
  readonly #id: string;
  readonly #entries: string;
  /** The value of the records of expiries. */
  readonly #account: Buffer;
  readonly #sum: StoredAccounting;
  /** Used by calls that give no `work`. */
  readonly #ownWork: CallWork;
  readonly #gate: WriteGate<void>;
  readonly #onExpiry: () => void;

  /** @param options.onExpiry called when a key was written that expires */
  constructor(options: {
    storage: StorageContext;
    id: string;
    name: string;
    account: string;
    sum: StoredAccounting;
    work: CallWork;
    onExpiry: () => void;
  }) {
    this.name = options.name;
    this.#storage = options.storage;
    this.#id = options.id;
    this.#entries = kvKeys.entries(options.id);
    this.#account = Buffer.from(options.account);
    this.#sum = options.sum;
    this.#ownWork = options.work;
    this.#gate = new WriteGate(() => deleted(options.name));
    this.#onExpiry = options.onExpiry;
  }

  async get(key: string, work = this.#ownWork): Promise<KvFound | null> {
    this.#check();
    const recordKey = this.#entries + key;
    for (;;) {
      const record = await this.#storage.records.get(recordKey, work);
      if (record === undefined || this.#isExpired(record)) return null;
      const found = await this.#found(recordKey, record, work);
      // undefined: the value was replaced in between, so read it again.
      if (found !== undefined) return found;
    }
  }

  async getMany(keys: readonly string[], work = this.#ownWork): Promise<(KvFound | null)[]> {
    this.#check();
    const recordKeys = keys.map(key => this.#entries + key);
    const records = await this.#storage.records.getMany(recordKeys, undefined, work);
    let bytes = 0;
    // The bytes of the values that are not in files: all of them are in memory before the first is sent.
    let heldBytes = 0;
    for (const record of records) {
      if (record === undefined || this.#isExpired(record)) continue;
      const size = sizeOf(record);
      bytes += size;
      if (size <= INLINE_BYTES) heldBytes += size;
    }
    if (bytes > KV_LIMITS.bulkBytes) {
      throw kvError(
        'GET_BULK',
        20004,
        `Total size of request exceeds the limit of ${KV_LIMITS.bulkBytes} bytes: the values have ${bytes}`,
      );
    }
    for (let room = work.room?.(); room !== undefined; room = work.room?.()) await room;
    work.countBytes(heldBytes);
    const found: (KvFound | null)[] = [];
    try {
      for (const [index, record] of records.entries()) {
        const isThere = record !== undefined && !this.#isExpired(record);
        const one = isThere ? await this.#found(recordKeys[index] ?? '', record, work) : null;
        found.push(one === undefined ? await this.get(keys[index] ?? '', work) : one);
      }
      return found;
    } catch (error) {
      for (const one of found) one?.content.release();
      throw error;
    } finally {
      // From here on the caller counts them.
      work.countBytes(-heldBytes);
    }
  }

  put(key: string, body: ServiceBody, options: KvWriteOptions, work = this.#ownWork): Promise<void> {
    return this.#gate.run(undefined, () => this.#put(key, body, options, work));
  }

  async #put(key: string, body: ServiceBody, options: KvWriteOptions, work: CallWork): Promise<void> {
    const recordKey = this.#entries + key;
    const { expiration, metadata } = options;
    await writeBody<void, void>(body, {
      storage: this.#storage,
      sum: this.#sum,
      recordKey,
      lockKey: recordKey,
      canEmbed: true,
      rules: BODY_RULES,
      signal: options.signal,
      bounds: options.bounds,
      work,
      subject: () => `put ${JSON.stringify(key)} into key-value namespace "${this.name}"`,
      sizeOf,
      plan: ({ size, content }, blob, previous) => {
        const embedded = content.kind === 'small' ? content.bytes : NO_BYTES;
        const value = encodeEntry({ size, metadata, expiration, body: blob ?? { kind: 'embedded', bytes: embedded } });
        const operations: RecordOperation[] = [{ type: 'put', key: recordKey, value }];
        const before = previous === undefined ? undefined : expirationOf(previous);
        if (before !== undefined && before !== expiration) operations.push(this.#unexpire(before, key));
        if (expiration !== undefined) {
          operations.push({ type: 'put', key: kvKeys.expiry(expiration, this.#id, key), value: this.#account });
        }
        return {
          kind: 'write',
          operations,
          drops: previous === undefined ? undefined : blobOf(previous),
          added: {
            bytes: size - (previous === undefined ? 0 : sizeOf(previous)),
            objects: previous === undefined ? 1 : 0,
          },
          result: undefined,
        };
      },
    });
    if (expiration !== undefined) this.#onExpiry();
  }

  delete(key: string, work = this.#ownWork): Promise<void> {
    const recordKey = this.#entries + key;
    const { records, mutex, collector } = this.#storage;
    return this.#gate.run(undefined, () =>
      mutex.run(recordKey, async () => {
        await records.awaitRecovery(work);
        await this.#sum.ready();
        const record = await records.get(recordKey, work);
        if (record === undefined) return;
        const operations: RecordOperation[] = [{ type: 'del', key: recordKey }];
        const expiration = expirationOf(record);
        if (expiration !== undefined) operations.push(this.#unexpire(expiration, key));
        const blob: BlobRef | undefined = blobOf(record);
        if (blob !== undefined) operations.push(collector.tombstoneOp(blob));
        await commitChange(records, operations, this.#sum.change({ bytes: -sizeOf(record), objects: -1 }), work);
        if (blob !== undefined) collector.afterCommit(blob, work);
      }),
    );
  }

  async list(query: KvQuery, work = this.#ownWork): Promise<KvPage> {
    this.#check();
    return listEntries(this.#storage, this.#entries, query, work);
  }

  /** Refuses calls from now on, waits for the writes in flight, and runs `remove`. Rejects with 20002 the second time. */
  close(remove: () => Promise<void>): Promise<void> {
    return this.#gate.close(undefined, remove);
  }

  /** Undefined when the value was replaced meanwhile. */
  async #found(recordKey: string, record: Buffer, work: CallWork): Promise<KvFound | undefined> {
    const { size, metadata, expiration, body } = decodeEntry(record);
    const range = { offset: 0, length: size };
    const content: StoredContent | undefined =
      body.kind === 'embedded'
        ? bytesContent(body.bytes, range)
        : await blobContent(
            this.#storage,
            { key: recordKey, blob: body, size, isReplaced: () => this.#isReplaced(recordKey, body, work) },
            range,
            work,
          );
    if (content === undefined) return undefined;
    return {
      size,
      content,
      ...(metadata === undefined ? undefined : { metadata }),
      ...(expiration === undefined ? undefined : { expiration }),
    };
  }

  async #isReplaced(recordKey: string, { id }: BlobRef, work: CallWork): Promise<boolean> {
    const record = await this.#storage.records.get(recordKey, work);
    return record === undefined || blobOf(record)?.id !== id;
  }

  #isExpired(record: Buffer): boolean {
    const expiration = expirationOf(record);
    return expiration !== undefined && expiration * 1000 <= this.#storage.now();
  }

  #unexpire(seconds: number, key: string): RecordOperation {
    return { type: 'del', key: kvKeys.expiry(seconds, this.#id, key) };
  }

  #check(): void {
    if (this.#gate.isClosed) throw deleted(this.name);
  }
}

const BLIND: BodyObserver<void> = { chunk() {}, end() {} };

const BODY_RULES: BodyRules<void> = {
  maxBytes: KV_LIMITS.valueBytes,
  tooLarge: size => kvError('PUT', 20004, `Value length of ${size} exceeds limit of ${KV_LIMITS.valueBytes}.`),
  observer: BLIND,
};

function deleted(name: string): KvError {
  return new KvError(20002, `The key-value namespace "${name}" was deleted`);
}
