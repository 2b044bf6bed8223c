/**
 * Checksums of records. LevelDB has checksums of its blocks, but the library never compares them when it reads, and a compaction would give a damaged
 * block a new one. So each value ends with a seal over its key and its bytes, which also notices a value under a wrong key.
 */
import { crc32 } from 'node:zlib';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { checksum } from '../files/checksum.js';
import { REPAIR_HINT } from '../files/storage-error.js';

/** On disk: four bytes of CRC-32, little-endian, then these two. The second one is the version of the seal. */
const MARK = 0xed01;
export const SEAL_BYTES = 6;

/** A copy of the value with its seal. */
export function sealed(key: string | Uint8Array, value: Uint8Array): Buffer {
  const { byteLength } = value;
  const record = Buffer.allocUnsafe(byteLength + SEAL_BYTES);
  record.set(value);
  record.writeUInt32LE(checksum(value, crc32(key)), byteLength);
  record.writeUInt16BE(MARK, byteLength + 4);
  return record;
}

/** The value without its seal, as a view of the record; undefined when the seal does not fit the key and the value. */
export function unsealed(key: string | Uint8Array, record: Buffer): Buffer | undefined {
  const end = record.byteLength - SEAL_BYTES;
  if (end < 0 || record.readUInt16BE(end + 4) !== MARK) return undefined;
  const value = record.subarray(0, end);
  return record.readUInt32LE(end) === checksum(value, crc32(key)) ? value : undefined;
}

/** Names the key as far as it can be printed: a damaged one may hold anything. */
export function damagedRecord(key: string, database: string): EdgeError {
  const shown = JSON.stringify(key.length > MAX_SHOWN ? `${key.slice(0, MAX_SHOWN)}...` : key);
  return new EdgeError(
    'EDGE_STORAGE_CORRUPT',
    `Cannot read the record ${shown} of the database "${database}": its checksum does not match, so it is damaged; other records can be used; ${REPAIR_HINT}`,
  );
}

const MAX_SHOWN = 1100;

/** LevelDB names neither the key nor the table when a whole block cannot be read. Other errors are returned as they are. */
export function damagedBlock(error: unknown, key: string, database: string): unknown {
  return errorCode(error) === 'LEVEL_CORRUPTION' ? damagedRecord(key, database) : error;
}
