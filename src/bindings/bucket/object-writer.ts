import { randomUUID } from 'node:crypto';
import type { CallWork } from '../service.js';
import type { RecordOperation } from '../storage/counts.js';
import type { BodyRef } from '../storage/reclaimer.js';
import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import type { ReceivedBody } from './receive-body.js';

/** Stores what was received, together with the record that refers to it; what failed leaves nothing behind. */
export async function commitReceived(
  parts: StorageParts,
  received: ReceivedBody,
  /** What to write, and what body is dropped by it; undefined: nothing is to be written. Called with the key locked. */
  plan: (body: BodyRef | undefined) => Promise<CommitPlan | undefined>,
  /** A small value is kept in a record of its own from this size on. */
  embeddedBytes: number,
  work: CallWork,
): Promise<boolean> {
  const { content } = received;
  const writer = content.kind === 'file' ? content.writer : undefined;
  let isCommitting = false;
  try {
    const operations: RecordOperation[] = [];
    const body = place(parts, received, embeddedBytes, operations);
    await parts.records.settled(work);
    const planned = await plan(body);
    if (planned === undefined) {
      await writer?.abandon();
      return false;
    }
    for (const operation of planned.operations) operations.push(operation);
    if (planned.drops !== undefined) operations.push(parts.reclaimer.dropping(planned.drops));
    await parts.records.claim(operations);
    isCommitting = true;
    await parts.records.commit(operations, work);
    writer?.settle();
    if (planned.drops !== undefined) parts.reclaimer.dropped(planned.drops, work);
    return true;
  } catch (error) {
    // A commit that failed may be found whole in the log all the same: its file stays until that is known.
    if (writer !== undefined && isCommitting) parts.reclaimer.undecided(writer.id, writer.settle);
    else await writer?.abandon();
    throw error;
  }
}

export interface CommitPlan {
  readonly operations: readonly RecordOperation[];
  readonly drops: BodyRef | undefined;
}

export function newVersion(): string {
  return randomUUID().replaceAll('-', '');
}

/** undefined: the value goes into the record of its object. */
function place(
  parts: StorageParts,
  { content }: ReceivedBody,
  embeddedBytes: number,
  operations: RecordOperation[],
): BodyRef | undefined {
  if (content.kind === 'file') {
    operations.push({ type: 'put', key: recordKeys.fileBody(content.writer.id), value: EMPTY });
    return { kind: 'file', id: content.writer.id };
  }
  if (content.bytes.byteLength <= embeddedBytes) return undefined;
  const id = parts.newId();
  operations.push({ type: 'put', key: recordKeys.inlineBody(id), value: content.bytes });
  return { kind: 'inline', id };
}

const EMPTY = new Uint8Array(0);
