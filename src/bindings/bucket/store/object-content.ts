/** Finds the content of an object that is in the record, in another record or in files. */
import { EdgeError } from '../../../quotas/errors.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { type BlobRef, type BlobSegment, decodeBlobList } from '../../../storage/blobs/blob-ref.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ResolvedRange } from '../byte-range.js';
import type { ObjectContent } from '../engine.js';
import { decodeObject, type StoredObject } from './object-codec.js';
import { bytesContent, segmentsContent } from './read-content.js';

/** Undefined when the object was replaced after its record `stored` had been read from `recordKey`. */
export async function objectContent(
  storage: StorageContext,
  recordKey: string,
  { body, object }: StoredObject,
  range: ResolvedRange,
  work: CallWork,
): Promise<ObjectContent | undefined> {
  const { records, collector } = storage;
  if (body.kind === 'embedded') return bytesContent(body.bytes, range);
  if (range.length === 0) return bytesContent(new Uint8Array(0), range);
  if (body.kind === 'inline') {
    const bytes = await records.get(recordKeys.inlineBlob(body.id), work);
    if (bytes !== undefined) return bytesContent(bytes, range);
    if (await isReplaced(records, recordKey, object.version, work)) return undefined;
    throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the value of the object is missing in the storage');
  }
  // Pinned before the check that it still exists: from now on it stays until it is unpinned.
  collector.pin(body.id);
  let segments: BlobSegment[];
  try {
    if (await isReplaced(records, recordKey, object.version, work)) {
      collector.unpin(body.id);
      return undefined;
    }
    segments = await segmentsOf(records, body, object.size, work);
  } catch (error) {
    collector.unpin(body.id);
    throw error;
  }
  return segmentsContent(storage, body.id, segments, range, work);
}

async function segmentsOf(records: RecordStore, body: BlobRef, size: number, work: CallWork): Promise<BlobSegment[]> {
  if (body.kind !== 'list') return [{ kind: body.kind, id: body.id, size }];
  const list = await records.get(recordKeys.blobList(body.id), work);
  if (list === undefined) {
    throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the list of parts of the object is missing in the storage');
  }
  return decodeBlobList(list);
}

async function isReplaced(records: RecordStore, recordKey: string, version: string, work: CallWork): Promise<boolean> {
  const record = await records.get(recordKey, work);
  return record === undefined || decodeObject(record, '', false).object.version !== version;
}
