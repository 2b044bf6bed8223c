import { randomUUID } from 'node:crypto';
import type { CallWork } from '../../quotas/host/call-work.js';
import type { BlobRef } from '../../storage/blob-ref.js';
import type { RecordOperation } from '../../storage/counts.js';
import { recordKeys } from '../../storage/record-keys.js';
import type { StorageContext } from '../../storage/storage-context.js';
import type { ReceivedBody } from './receive-body.js';

/** Stores a received body together with the record that refers to it. A failure leaves nothing behind. */
export async function commitReceived(
  storage: StorageContext,
  received: ReceivedBody,
  /** The records to write, and the blob that they replace; undefined: nothing is to be written. Called with the key locked. */
  plan: (blob: BlobRef | undefined) => Promise<CommitPlan | undefined>,
  /** Values above this size have a record of their own. */
  embeddedBytes: number,
  work: CallWork,
): Promise<boolean> {
  const { content } = received;
  const writer = content.kind === 'file' ? content.writer : undefined;
  let isCommitting = false;
  try {
    const operations: RecordOperation[] = [];
    const blob = place(storage, received, embeddedBytes, operations);
    await storage.records.awaitRecovery(work);
    const planned = await plan(blob);
    if (planned === undefined) {
      await writer?.abandon();
      return false;
    }
    for (const operation of planned.operations) operations.push(operation);
    if (planned.drops !== undefined) operations.push(storage.collector.tombstoneOp(planned.drops));
    await storage.records.reserveSpace(operations);
    isCommitting = true;
    await storage.records.commit(operations, work);
    writer?.done();
    if (planned.drops !== undefined) storage.collector.afterCommit(planned.drops, work);
    return true;
  } catch (error) {
    // LevelDB may still find a failed commit in its log, so the file stays until that is known.
    if (writer !== undefined && isCommitting) storage.collector.resolveUncertain(writer.id, writer.done);
    else await writer?.abandon();
    throw error;
  }
}

export interface CommitPlan {
  readonly operations: readonly RecordOperation[];
  readonly drops: BlobRef | undefined;
}

export function newVersion(): string {
  return randomUUID().replaceAll('-', '');
}

/** undefined: the value goes into the record of the object. */
function place(
  storage: StorageContext,
  { content }: ReceivedBody,
  embeddedBytes: number,
  operations: RecordOperation[],
): BlobRef | undefined {
  if (content.kind === 'file') {
    operations.push({ type: 'put', key: recordKeys.fileBlob(content.writer.id), value: EMPTY });
    return { kind: 'file', id: content.writer.id };
  }
  if (content.bytes.byteLength <= embeddedBytes) return undefined;
  const id = storage.newId();
  operations.push({ type: 'put', key: recordKeys.inlineBlob(id), value: content.bytes });
  return { kind: 'inline', id };
}

const EMPTY = new Uint8Array(0);
