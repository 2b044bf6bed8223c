/**
 * A value as the head and the body of an exchange. The text of a value is the head; one that is long goes before its bytes, with its length as
 * the head, because a head is held until it is whole.
 */
import { asBuffer } from '../../protocol/frames/buffer-views.js';
import type { BindingErrors } from './errors.js';
import { decodeValue, type EncodedValue, encodeValue } from './values.js';

export interface Packet {
  readonly head: string;
  /** Null: the head is all of it. */
  readonly body: Uint8Array | null;
}

/**
 * Small calls and answers that are written at once: the other end works on them while this one makes the next. Fewer cost more system calls than they save
 * waiting.
 */
export const CALLS_AT_ONCE = 8;
/** In UTF-16 units. A unit has at most three bytes in UTF-8. */
const MAX_HEAD = 256 * 1024;
/** The head of a call of a service, in UTF-16 units: a frame has at most 8 MiB. */
export const MAX_SERVICE_HEAD = 2 * 1024 * 1024;
/** Stands before the number of bytes of a text that is in the body. No JSON text begins so. */
const LONG = '+';
/** The largest value: the modules of a function are the largest. */
export const MAX_PACKET_BYTES = 512 * 1024 * 1024;

export function packValue(value: unknown): Packet {
  const { text, bytes } = encodeValue(value);
  return packText(text, bytes);
}

/** @param bytes those that follow the text. @default none */
export function packText(text: string, bytes: EncodedValue['bytes'] = []): Packet {
  if (text.length <= MAX_HEAD) return { head: text, body: bytes.length === 0 ? null : Buffer.concat(bytes) };
  const long = Buffer.from(text);
  return { head: `${LONG}${long.length}`, body: Buffer.concat([long, ...bytes]) };
}

/**
 * A value that stands beside a body, which the value itself does not need.
 * @throws TypeError for one that does
 */
export function packHead(value: unknown): string {
  const { text, bytes } = encodeValue(value);
  if (text.length > MAX_HEAD || bytes.length > 0) {
    throw new TypeError(`The arguments beside a body have ${text.length} characters and ${bytes.length} byte arrays`);
  }
  return text;
}

/** @throws TypeError or SyntaxError for what `packValue` does not make */
export function unpackValue(head: string, body: Uint8Array, errors?: BindingErrors): unknown {
  const length = longTextBytes(head);
  return decodeValue(unpackText(head, body), body.subarray(length), errors);
}

/** The text alone. */
export function unpackText(head: string, body: Uint8Array): string {
  return head.startsWith(LONG) ? asBuffer(body).toString('utf8', 0, longTextBytes(head)) : head;
}

function longTextBytes(head: string): number {
  return head.startsWith(LONG) ? Number(head.slice(LONG.length)) : 0;
}
