/** Records on the host's side: those from an isolate are checked as what a hostile one may have sent. */
import { isUtf8 } from 'node:buffer';
import { isSendableCode, MAX_CLOSE_BYTES, MAX_LOST_BYTES, RECORD_HEAD_BYTES, RecordKind } from './wire.js';

export interface RecordSink {
  /** A part of a message, in order; `isLast` with the one that completes it. A view that stays as it is. */
  message(part: Buffer, isBinary: boolean, isLast: boolean): void;
  /** Nothing comes behind it. `code` 0 for none. */
  close(code: number, reason: string): void;
}

/** An isolate has sent a malformed record, or one that its limits do not allow. */
export class RecordError extends Error {
  /** The message is longer than the limit. */
  readonly isTooLong: boolean;

  constructor(message: string, isTooLong = false) {
    super(message);
    this.isTooLong = isTooLong;
  }
}

/** Parses a stream of records. It keeps nothing of a message. */
export class RecordReader {
  readonly #maxMessageBytes: number;
  readonly #sink: RecordSink;
  /** The head of a record, or all of a close, as far as it has come. */
  readonly #kept = Buffer.alloc(MAX_CLOSE_BYTES);
  #keptBytes = 0;
  #kind: RecordKind | undefined;
  #leftBytes = 0;
  #isOver = false;

  constructor(maxMessageBytes: number, sink: RecordSink) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#sink = sink;
  }

  /** @throws RecordError; nothing more can be read then */
  read(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isOver) throw new RecordError('a record comes behind a close');
      at += this.#kind === undefined ? this.#readHead(bytes, at) : this.#readPayload(bytes, at);
    }
  }

  #readHead(bytes: Buffer, from: number): number {
    const taken = this.#keep(bytes, from, RECORD_HEAD_BYTES);
    if (this.#keptBytes < RECORD_HEAD_BYTES) return taken;
    this.#keptBytes = 0;
    const kind = this.#kept.readUInt8(0);
    const length = this.#kept.readUInt32LE(1);
    if (kind === RecordKind.Close) {
      if (length < 2 || length > MAX_CLOSE_BYTES) throw new RecordError(`a close has ${length} bytes`);
    } else if (kind !== RecordKind.Text && kind !== RecordKind.Binary)
      throw new RecordError(`a record has kind ${kind}`);
    else if (length > this.#maxMessageBytes) {
      const most = this.#maxMessageBytes;
      throw new RecordError(`a message has ${length} bytes, limit webSocketMessageBytes is ${most}`, true);
    }
    this.#kind = kind;
    this.#leftBytes = length;
    if (length === 0) this.#part(bytes.subarray(0, 0));
    return taken;
  }

  #readPayload(bytes: Buffer, from: number): number {
    if (this.#kind === RecordKind.Close) {
      const taken = this.#keep(bytes, from, this.#leftBytes);
      if (this.#keptBytes === this.#leftBytes) this.#close(this.#kept.subarray(0, this.#keptBytes));
      return taken;
    }
    const part = bytes.subarray(from, from + this.#leftBytes);
    this.#leftBytes -= part.length;
    this.#part(part);
    return part.length;
  }

  #keep(bytes: Buffer, from: number, wanted: number): number {
    const part = bytes.subarray(from, from + wanted - this.#keptBytes);
    this.#kept.set(part, this.#keptBytes);
    this.#keptBytes += part.length;
    return part.length;
  }

  #part(part: Buffer): void {
    const isBinary = this.#kind === RecordKind.Binary;
    const isLast = this.#leftBytes === 0;
    if (isLast) this.#kind = undefined;
    this.#sink.message(part, isBinary, isLast);
  }

  #close(payload: Buffer): void {
    const code = payload.readUInt16LE(0);
    const reason = payload.subarray(2);
    if (code === 0 ? reason.length > 0 : !isSendableCode(code)) throw new RecordError(`a close has the code ${code}`);
    if (!isUtf8(reason)) throw new RecordError('the reason of a close is not UTF-8');
    this.#isOver = true;
    this.#sink.close(code, reason.toString('utf8'));
  }
}

export function recordHead(kind: RecordKind, bytes: number): Buffer {
  const head = Buffer.allocUnsafeSlow(RECORD_HEAD_BYTES);
  writeRecordHead(head, 0, kind, bytes);
  return head;
}

export function writeRecordHead(target: Buffer, at: number, kind: RecordKind, bytes: number): void {
  target.writeUInt8(kind, at);
  target.writeUInt32LE(bytes, at + 1);
}

/** `code` 0 for none. */
export function closeRecord(code: number, reason: Uint8Array): Buffer {
  const payload = Buffer.allocUnsafeSlow(2 + reason.length);
  payload.writeUInt16LE(code, 0);
  payload.set(reason, 2);
  return Buffer.concat([recordHead(RecordKind.Close, payload.length), payload]);
}

export function lostRecord(reason: string): Buffer {
  const text = Buffer.from(reason.slice(0, MAX_LOST_BYTES / 3));
  return Buffer.concat([recordHead(RecordKind.Lost, text.length), text]);
}
