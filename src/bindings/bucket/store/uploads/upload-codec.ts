import type { BlobRef } from '../../../../storage/blobs/blob-ref.js';
import type { CompletedUpload, PartRecord, UploadRecord } from '../../engine.js';

/**
 * A record of an upload. It stays for a while after the upload has ended, so that a late call gets the error that it was completed or aborted, and not
 * that it never existed.
 */
export interface StoredUpload {
  readonly state: 'open' | 'aborted' | 'completed';
  readonly upload: UploadRecord;
  /** Milliseconds since the epoch; null when the upload is never aborted. */
  readonly expires: number | null;
  /** Set when it was completed. */
  readonly made?: CompletedUpload;
}

export interface StoredPart {
  readonly part: PartRecord;
  readonly body: Extract<BlobRef, { kind: 'inline' | 'file' }>;
}

export function encodeUpload(stored: StoredUpload): Buffer {
  return Buffer.from(JSON.stringify(stored));
}

export function decodeUpload(record: Buffer): StoredUpload {
  return JSON.parse(record.toString());
}

export function encodePart(stored: StoredPart): Buffer {
  return Buffer.from(JSON.stringify(stored));
}

export function decodePart(record: Buffer): StoredPart {
  return JSON.parse(record.toString());
}
