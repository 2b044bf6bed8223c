/** Opens the body of an entry, or a part of it. */
import { EdgeError } from '../../../quotas/errors.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ServiceBody } from '../../service.js';
import { damagedValue, segmentsContent } from '../../stored-values/read-content.js';
import type { ByteSpan } from '../byte-ranges.js';
import { decodeEntry, type StoredCacheEntry } from './entry-codec.js';

/** Undefined when the entry was replaced or removed after its record had been read from `key`. */
export async function entryContent(
  storage: StorageContext,
  key: string,
  { head, bytes }: StoredCacheEntry,
  span: ByteSpan,
  work: CallWork,
): Promise<ServiceBody | undefined> {
  const { blob } = head;
  if (blob === undefined || span.length === 0) return partOf(bytes, span);
  if (blob.kind === 'inline') {
    const value = await storage.records.get(recordKeys.inlineBlob(blob.id), work);
    if (value !== undefined) return partOf(value, span);
    if (await isReplaced(storage, key, head.version, work)) return undefined;
    const missing = new EdgeError('EDGE_STORAGE_CORRUPT', 'match: the body of the response is missing in the storage');
    throw damagedValue(storage.records, key, missing);
  }
  // Pinned before the check that it still exists: from now on it stays until it is unpinned.
  storage.collector.pin(blob.id);
  try {
    if (await isReplaced(storage, key, head.version, work)) {
      storage.collector.unpin(blob.id);
      return undefined;
    }
  } catch (error) {
    storage.collector.unpin(blob.id);
    throw error;
  }
  // It unpins the blob when it was read or given up, and when this rejects.
  const segments = [{ kind: 'file', id: blob.id, size: head.size }] as const;
  return (await segmentsContent(storage, { key, pinId: blob.id, segments }, span, work)).open();
}

/** A copy: its reader may transfer the buffer, which holds memory of the database. */
function partOf(bytes: Uint8Array, { offset, length }: ByteSpan): Uint8Array {
  return new Uint8Array(bytes.subarray(offset, offset + length));
}

async function isReplaced({ records }: StorageContext, key: string, version: string, work: CallWork): Promise<boolean> {
  const record = await records.get(key, work);
  return record === undefined || decodeEntry(record).head.version !== version;
}
