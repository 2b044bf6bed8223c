/** Receives a value, and stores it together with the record that refers to it. */
import type { CallWork } from '../../quotas/host/call-work.js';
import type {
  BodyReservation,
  StorageBounds,
  StoredAccounting,
  SumChange,
} from '../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../storage/blobs/blob-ref.js';
import { fileBlobRecord } from '../../storage/files/file-blob-id.js';
import type { RecordOperation } from '../../storage/records/counts.js';
import { recordKeys } from '../../storage/records/record-keys.js';
import type { StorageContext } from '../../storage/storage-context.js';
import type { ServiceBody } from '../service.js';
import { type BodyRules, type ReceivedBody, receiveBody } from './receive-body.js';
import { EMBEDDED_BYTES } from './value-sizes.js';

export interface BodyWrite<Result, Seen> {
  readonly storage: StorageContext;
  /** The account's stored sum. */
  readonly sum: StoredAccounting;
  /** The key of the record that is written. */
  readonly recordKey: string;
  /** The key that is locked while the record is written, but not while the body is received. */
  readonly lockKey: string;
  /** Small values go into the record, and `plan` gets no blob for them. */
  readonly canEmbed: boolean;
  readonly rules: BodyRules<Seen>;
  readonly signal: AbortSignal | undefined;
  /** The most that the account may have stored then; undefined for no bounds. */
  readonly bounds: StorageBounds | undefined;
  readonly work: CallWork;
  /** The operation, for messages. */
  readonly subject: () => string;
  /** The bytes of the value that such a record refers to. */
  readonly sizeOf: (record: Buffer) => number;
  /** Plans the write, with the lock held. `previous` is the record that it replaces, `blob` the file that it must refer to. */
  readonly plan: (
    received: ReceivedBody<Seen>,
    blob: BlobRef | undefined,
    previous: Buffer | undefined,
  ) => BodyPlan<Result> | Promise<BodyPlan<Result>>;
}

export type BodyPlan<Result> =
  | {
      readonly kind: 'write';
      readonly operations: readonly RecordOperation[];
      /** The blob that the operations drop the last reference to. */
      readonly drops: BlobRef | undefined;
      /** The bytes and objects that the write adds to the account. */
      readonly added: { readonly bytes: number; readonly objects: number };
      readonly result: Result;
    }
  | { readonly kind: 'nothing'; readonly result: Result };

/** Resolves to the result of the plan. A failure leaves nothing behind. Rejects like {@link receiveBody}, and like the plan. */
export async function writeBody<Result, Seen>(body: ServiceBody, write: BodyWrite<Result, Seen>): Promise<Result> {
  const { storage, sum, recordKey, lockKey, rules, work, subject } = write;
  let reservation: BodyReservation | undefined;
  let isLocked = false;
  let heldBytes = 0;
  try {
    const received = await receiveBody(body, {
      ...rules,
      blobs: storage.blobs,
      signal: write.signal,
      reserve: async () => {
        const wait = sum.ready();
        if (wait !== undefined) await wait;
        const record = await storage.records.get(recordKey, work);
        const replaced = { key: recordKey, bytes: record === undefined ? 0 : write.sizeOf(record) };
        reservation = sum.reserveBody(replaced, write.bounds, subject);
        return reservation;
      },
      work,
    });
    // Until it is written, which other writes of the key and the disk make it wait for.
    if (received.content.kind === 'small') heldBytes = received.content.bytes.byteLength;
    work.countBytes(heldBytes);
    await storage.mutex.lock(lockKey);
    isLocked = true;
    return await commitBody(write, received, () => reservation?.release());
  } finally {
    work.countBytes(-heldBytes);
    reservation?.release();
    if (isLocked) storage.mutex.unlock(lockKey);
  }
}

async function commitBody<Result, Seen>(
  { storage, sum, recordKey, canEmbed, signal, bounds, work, subject, plan }: BodyWrite<Result, Seen>,
  received: ReceivedBody<Seen>,
  release: () => void,
): Promise<Result> {
  const { content } = received;
  const writer = content.kind === 'file' ? content.writer : undefined;
  let isCommitting = false;
  let change: SumChange | undefined;
  try {
    const operations: RecordOperation[] = [];
    const blob = place(storage, received, canEmbed, operations);
    await storage.records.awaitRecovery(work);
    const wait = sum.ready();
    if (wait !== undefined) await wait;
    const planned = await plan(received, blob, await storage.records.get(recordKey, work));
    if (planned.kind === 'nothing') {
      await writer?.abandon();
      return planned.result;
    }
    // Between the two nothing else can take the room.
    release();
    change = sum.change(planned.added, bounds, subject);
    for (const operation of planned.operations) operations.push(operation);
    if (change.operation !== undefined) operations.push(change.operation);
    if (planned.drops !== undefined) operations.push(storage.collector.tombstoneOp(planned.drops));
    await storage.records.reserveSpace(operations);
    // A client may say only behind the end of a body that it is not to be stored.
    signal?.throwIfAborted();
    isCommitting = true;
    await storage.records.commit(operations, work);
    change.done();
    writer?.done();
    if (planned.drops !== undefined) storage.collector.afterCommit(planned.drops, work);
    return planned.result;
  } catch (error) {
    change?.failed(isCommitting);
    // LevelDB may still find a failed commit in its log, so the file stays until that is known.
    if (writer !== undefined && isCommitting) storage.collector.resolveUncertain(writer.id, writer.done);
    else await writer?.abandon();
    throw error;
  }
}

/** undefined: the value goes into the record. */
function place(
  storage: StorageContext,
  { content, size }: ReceivedBody<unknown>,
  canEmbed: boolean,
  operations: RecordOperation[],
): BlobRef | undefined {
  if (content.kind === 'file') {
    const { id } = content.writer;
    operations.push({ type: 'put', key: recordKeys.fileBlob(id), value: fileBlobRecord(id, size) });
    return { kind: 'file', id };
  }
  if (canEmbed && content.bytes.byteLength <= EMBEDDED_BYTES) return undefined;
  const id = storage.newId();
  operations.push({ type: 'put', key: recordKeys.inlineBlob(id), value: content.bytes });
  return { kind: 'inline', id };
}
