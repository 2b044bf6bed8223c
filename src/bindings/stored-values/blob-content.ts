/** Finds the content of a value that is outside of the record of its key, in another record or in files. */
import { EdgeError } from '../../quotas/errors.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { type BlobRef, type BlobSegment, decodeBlobList } from '../../storage/blobs/blob-ref.js';
import { recordKeys } from '../../storage/records/record-keys.js';
import type { RecordStore } from '../../storage/records/record-store.js';
import type { StorageContext } from '../../storage/storage-context.js';
import { bytesContent, damagedValue, segmentsContent } from './read-content.js';
import type { ResolvedRange, StoredContent } from './stored-content.js';

/** A value outside of the record of its key. */
export interface StoredBlob {
  /** The key of the record that refers to the value, for messages. */
  readonly key: string;
  readonly blob: BlobRef;
  readonly size: number;
  /** Whether its key has another value by now, or none. */
  readonly isReplaced: () => Promise<boolean>;
}

/** Undefined when the value was replaced after its record had been read. Rejects with EDGE_STORAGE_CORRUPT for one that is not there. */
export async function blobContent(
  storage: StorageContext,
  { key, blob, size, isReplaced }: StoredBlob,
  range: ResolvedRange,
  work: CallWork,
): Promise<StoredContent | undefined> {
  const { records, collector } = storage;
  if (range.length === 0) return bytesContent(new Uint8Array(0), range);
  if (blob.kind === 'inline') {
    const bytes = await records.get(recordKeys.inlineBlob(blob.id), work).catch((error: unknown) => {
      throw damagedValue(records, key, error);
    });
    if (bytes !== undefined) return bytesContent(bytes, range);
    if (await isReplaced()) return undefined;
    throw damagedValue(records, key, new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the value is missing in the storage'));
  }
  // Pinned before the check that it still exists: from now on it stays until it is unpinned.
  collector.pin(blob.id);
  let segments: BlobSegment[];
  try {
    if (await isReplaced()) {
      collector.unpin(blob.id);
      return undefined;
    }
    segments = await segmentsOf(records, blob, size, work);
  } catch (error) {
    collector.unpin(blob.id);
    throw damagedValue(records, key, error);
  }
  return segmentsContent(storage, { key, pinId: blob.id, segments }, range, work);
}

async function segmentsOf(records: RecordStore, blob: BlobRef, size: number, work: CallWork): Promise<BlobSegment[]> {
  if (blob.kind !== 'list') return [{ kind: blob.kind, id: blob.id, size }];
  const list = await records.get(recordKeys.blobList(blob.id), work);
  if (list === undefined) {
    throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the list of parts of the value is missing in the storage');
  }
  return decodeBlobList(list);
}
