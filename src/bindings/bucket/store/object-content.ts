/** Finds the content of an object that is in the record, in another record or in files. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { blobContent } from '../../stored-values/blob-content.js';
import { bytesContent } from '../../stored-values/read-content.js';
import type { ResolvedRange } from '../../stored-values/stored-content.js';
import type { ObjectContent } from '../engine.js';
import { decodeObject, type StoredObject } from './object-codec.js';

/** Undefined when the object was replaced after its record `stored` had been read from `recordKey`. */
export async function objectContent(
  storage: StorageContext,
  recordKey: string,
  { body, object }: StoredObject,
  range: ResolvedRange,
  work: CallWork,
): Promise<ObjectContent | undefined> {
  if (body.kind === 'embedded') return bytesContent(body.bytes, range);
  const isReplaced = async (): Promise<boolean> => {
    const record = await storage.records.get(recordKey, work);
    return record === undefined || decodeObject(record, '', false).object.version !== object.version;
  };
  return blobContent(storage, { key: recordKey, blob: body, size: object.size, isReplaced }, range, work);
}
