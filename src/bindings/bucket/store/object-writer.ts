import { randomUUID } from 'node:crypto';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { SumChange } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { EMBEDDED_BYTES } from '../limits.js';
import type { ReceivedBody } from './receive-body.js';

/**
 * Stores a received body together with the record that refers to it. A failure leaves nothing behind. The caller has locked the key.
 *
 * @param plan what to write; undefined when nothing is to be written, which is then also the result. It gets the blob that the record refers to, or
 * undefined when the value goes into the record, which `canEmbed` allows for small values.
 */
export async function commitReceived<Result>(
  storage: StorageContext,
  received: ReceivedBody,
  canEmbed: boolean,
  plan: (blob: BlobRef | undefined) => Promise<CommitPlan<Result> | undefined>,
  work: CallWork,
): Promise<Result | undefined> {
  const { content } = received;
  const writer = content.kind === 'file' ? content.writer : undefined;
  let isCommitting = false;
  let change: SumChange | undefined;
  try {
    const operations: RecordOperation[] = [];
    const blob = place(storage, received, canEmbed, operations);
    await storage.records.awaitRecovery(work);
    const planned = await plan(blob);
    if (planned === undefined) {
      await writer?.abandon();
      return undefined;
    }
    change = planned.change;
    for (const operation of planned.operations) operations.push(operation);
    if (change.operation !== undefined) operations.push(change.operation);
    if (planned.drops !== undefined) operations.push(storage.collector.tombstoneOp(planned.drops));
    await storage.records.reserveSpace(operations);
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

export interface CommitPlan<Result> {
  readonly operations: readonly RecordOperation[];
  /** The blob that the operations drop the last reference to. */
  readonly drops: BlobRef | undefined;
  /** How the operations change what the account has stored. */
  readonly change: SumChange;
  readonly result: Result;
}

/** Writes the operations with the change of the sum that they make. */
export async function commitChange(
  records: RecordStore,
  operations: RecordOperation[],
  change: SumChange,
  work: CallWork,
): Promise<void> {
  if (change.operation !== undefined) operations.push(change.operation);
  try {
    await records.commit(operations, work);
    change.done();
  } catch (error) {
    change.failed(true);
    throw error;
  }
}

export function newVersion(): string {
  return randomUUID().replaceAll('-', '');
}

/** undefined: the value goes into the record of the object. */
function place(
  storage: StorageContext,
  { content }: ReceivedBody,
  canEmbed: boolean,
  operations: RecordOperation[],
): BlobRef | undefined {
  if (content.kind === 'file') {
    operations.push({ type: 'put', key: recordKeys.fileBlob(content.writer.id), value: EMPTY });
    return { kind: 'file', id: content.writer.id };
  }
  if (canEmbed && content.bytes.byteLength <= EMBEDDED_BYTES) return undefined;
  const id = storage.newId();
  operations.push({ type: 'put', key: recordKeys.inlineBlob(id), value: content.bytes });
  return { kind: 'inline', id };
}

const EMPTY = new Uint8Array(0);
