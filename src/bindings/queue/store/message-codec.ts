/**
 * The record of a message. It is on disk, so its form never changes:
 *
 *     u8 form, 1 | u8 content type | u16 deliveries before | f64 sent at | f64 in this queue since | 16 bytes id | body
 *
 * Numbers are little-endian, times milliseconds since the epoch.
 */
import { CONTENT_TYPES, type QueueContentType } from '../wire.js';

export interface StoredMessage {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly contentType: QueueContentType;
  readonly timestamp: number;
  /** A message is kept for a time from here on. */
  readonly since: number;
  /** Deliveries that have failed. */
  readonly attempts: number;
  readonly body: Uint8Array;
}

const FORM = 1;
const TYPE_AT = 1;
const ATTEMPTS_AT = 2;
const SENT_AT = 4;
const SINCE_AT = 12;
const ID_AT = 20;
const BODY_AT = 36;
const MAX_ATTEMPTS = 0xffff;

export function encodeMessage({ id, contentType, timestamp, since, attempts, body }: StoredMessage): Buffer {
  const record = Buffer.allocUnsafe(BODY_AT + body.byteLength);
  record[0] = FORM;
  record[TYPE_AT] = CONTENT_TYPES.indexOf(contentType);
  record.writeUInt16LE(Math.min(attempts, MAX_ATTEMPTS), ATTEMPTS_AT);
  record.writeDoubleLE(timestamp, SENT_AT);
  record.writeDoubleLE(since, SINCE_AT);
  record.write(id, ID_AT, 'hex');
  record.set(body, BODY_AT);
  return record;
}

/** The body is a view of the record. @throws Error for a record of another form, as a damaged storage may have it */
export function decodeMessage(record: Buffer): StoredMessage {
  const contentType = CONTENT_TYPES[record[TYPE_AT] ?? CONTENT_TYPES.length];
  if (record.length < BODY_AT || record[0] !== FORM || contentType === undefined) {
    throw new Error(
      `The record of a message has the form ${record[0]}, type ${record[TYPE_AT]}, ${record.length} bytes`,
    );
  }
  return {
    id: record.toString('hex', ID_AT, BODY_AT),
    contentType,
    timestamp: record.readDoubleLE(SENT_AT),
    since: record.readDoubleLE(SINCE_AT),
    attempts: record.readUInt16LE(ATTEMPTS_AT),
    body: record.subarray(BODY_AT),
  };
}

/** The size of the body, which is what a message counts as in the sums. */
export function bodyBytesOf(record: Uint8Array): number {
  return Math.max(0, record.byteLength - BODY_AT);
}
