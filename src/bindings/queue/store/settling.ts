/** The messages of a call of `settle`, and the ones that it writes again. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { MessageLease } from './leases.js';
import { decodeMessage, type StoredMessage } from './message-codec.js';
import { queueKeys } from './queue-keys.js';
import type { ReadyMessage } from './queue-window.js';

export interface RetriedMessage {
  readonly lease: MessageLease;
  readonly delayMs: number;
}

export interface Moved {
  /** Its place before. */
  readonly from: string;
}

export class Settling {
  readonly all: MessageLease[] = [];
  readonly acks: MessageLease[] = [];
  readonly retries: RetriedMessage[] = [];
  readonly releases: MessageLease[] = [];
  readonly unknown: string[] = [];
}

export function totalOf(bytes: readonly number[]): { readonly bytes: number; readonly objects: number } {
  return { bytes: bytes.reduce((total, each) => total + each, 0), objects: bytes.length };
}

/** The messages that are written again, at their new places. `prefix`: of the keys of the queue's messages. */
export async function readMoved(
  { storage, work }: { readonly storage: StorageContext; readonly work: CallWork },
  prefix: string,
  retried: readonly RetriedMessage[],
  dead: readonly RetriedMessage[],
): Promise<{ readonly retried: (ReadyMessage & Moved)[]; readonly dead: (ReadyMessage & Moved)[] }> {
  const keys = [...retried, ...dead].map(({ lease }) => prefix + lease.place);
  const records = keys.length === 0 ? [] : await storage.records.getMany(keys, undefined, work);
  const now = storage.now();
  const at = (index: number, message: RetriedMessage, change: Partial<StoredMessage>): (ReadyMessage & Moved)[] => {
    const record = records[index];
    // The queue was emptied.
    if (record === undefined) return [];
    const place = queueKeys.place(now + message.delayMs, storage.newId());
    return [{ ...decodeMessage(record), ...change, place, from: message.lease.place }];
  };
  return {
    retried: retried.flatMap((retry, index) => at(index, retry, { attempts: retry.lease.attempts })),
    dead: dead.flatMap((retry, index) =>
      at(retried.length + index, { ...retry, delayMs: 0 }, { attempts: 0, since: now }),
    ),
  };
}
