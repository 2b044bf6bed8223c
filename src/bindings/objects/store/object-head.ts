/** The record of an object: what it has stored, and its alarm. It exists while there is either. */
import { PAGE_BYTES } from '../../../sqlite/engine/objects/object-messages.js';

/** An alarm as it is kept. Times are in milliseconds since the epoch. */
export interface StoredAlarm {
  /** The time that the object has set. */
  readonly scheduledTime: number;
  /** When it is to run: later than that after a failure. */
  readonly dueMs: number;
  /** Failures that count. */
  readonly retryCount: number;
  /** Number of doublings of the back-off delay since the last success. */
  readonly backoff: number;
  /** The last failure was the host's. */
  readonly isInternal: boolean;
  /** The name that the id of the object was made from, where the instance that set the alarm knew it. Older records have none. */
  readonly name?: string | undefined;
}

export interface ObjectHead {
  /** Names its values. */
  readonly valuesId: string;
  /** The bytes of all keys and values. */
  readonly bytes: number;
  readonly keys: number;
  /** The pages of its database. Each of them is a record. */
  readonly sqlPages: number;
  readonly alarm: StoredAlarm | undefined;
}

/** Counts the data of an object beside its record. A database counts as one record more. */
export function contentsOf({ bytes, keys, sqlPages, alarm }: ObjectHead): {
  readonly bytes: number;
  readonly objects: number;
} {
  return { bytes: bytes + sqlPages * PAGE_BYTES + nameBytes(alarm), objects: keys + (sqlPages > 0 ? 1 : 0) };
}

/** The bytes of the name, which is in two records: the record of the object and the record of the alarm. */
function nameBytes(alarm: StoredAlarm | undefined): number {
  return alarm?.name === undefined ? 0 : 2 * Buffer.byteLength(alarm.name);
}

/** The size of an object's record in the account's sum, beside its keys and values. */
export const HEAD_BYTES = 256;

export function newAlarm(scheduledTime: number, name: string | undefined): StoredAlarm {
  return { scheduledTime, dueMs: scheduledTime, retryCount: 0, backoff: 0, isInternal: false, name };
}

export function encodeHead({ valuesId, bytes, keys, sqlPages, alarm }: ObjectHead): Buffer {
  const fields: unknown[] = [valuesId, bytes, keys];
  if (alarm !== undefined || sqlPages > 0) fields.push(alarm === undefined ? null : encodeAlarm(alarm));
  if (sqlPages > 0) fields.push(sqlPages);
  return Buffer.from(JSON.stringify(fields));
}

/** It was written by this file. */
export function decodeHead(record: Buffer): ObjectHead {
  const [valuesId, bytes, keys, alarm = null, sqlPages = 0] = JSON.parse(record.toString());
  return { valuesId, bytes, keys, sqlPages, alarm: alarm === null ? undefined : decodeAlarm(alarm) };
}

export function alarmRecord(alarm: StoredAlarm): Buffer {
  return Buffer.from(JSON.stringify(encodeAlarm(alarm)));
}

export function parseAlarmRecord(record: Buffer): StoredAlarm {
  return decodeAlarm(JSON.parse(record.toString()));
}

type AlarmFields = readonly [number, number, number, number, 0 | 1, string?];

function encodeAlarm({ scheduledTime, dueMs, retryCount, backoff, isInternal, name }: StoredAlarm): AlarmFields {
  const internal = isInternal ? 1 : 0;
  if (name === undefined) return [scheduledTime, dueMs, retryCount, backoff, internal];
  return [scheduledTime, dueMs, retryCount, backoff, internal, name];
}

function decodeAlarm([scheduledTime, dueMs, retryCount, backoff, isInternal, name]: AlarmFields): StoredAlarm {
  return { scheduledTime, dueMs, retryCount, backoff, isInternal: isInternal === 1, name };
}
