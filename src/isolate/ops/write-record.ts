/** Records of messages that the guest sends. Their receiver checks them again. */
import { RECORD_HEAD_BYTES, RecordKind } from '../../bindings/websocket/wire.js';
import { checkedInteger, copyWhenItFits, guestByteLength } from './arguments.js';

export function textRecord(kind: unknown, text: string): Uint8Array {
  const record = Buffer.allocUnsafe(RECORD_HEAD_BYTES + Buffer.byteLength(text));
  writeHead(record, kind);
  record.write(text, RECORD_HEAD_BYTES, 'utf8');
  return record;
}

export function bytesRecord(kind: unknown, bytes: unknown, maxBytes: number): Uint8Array {
  const record = Buffer.allocUnsafe(RECORD_HEAD_BYTES + guestByteLength(bytes, maxBytes));
  writeHead(record, kind);
  copyWhenItFits(record.subarray(RECORD_HEAD_BYTES), bytes, maxBytes);
  return record;
}

function writeHead(record: Buffer, kind: unknown): void {
  record.writeUInt8(checkedInteger(kind, RecordKind.Text, RecordKind.Close), 0);
  record.writeUInt32LE(record.length - RECORD_HEAD_BYTES, 1);
}
