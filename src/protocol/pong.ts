/** The payload of a pong: the ids of the calls whose answer function code is reading, or pipes on, as u32 each. */

const ID_BYTES = 4;
/** More calls than an invocation can have connections, unless its limit was raised: of the others it is not known, and nothing depends on it. */
const MAX_READING = 1024;

export function encodeReading(ids: readonly number[]): Buffer {
  const count = Math.min(ids.length, MAX_READING);
  const payload = Buffer.allocUnsafe(count * ID_BYTES);
  for (let at = 0; at < count; at++) payload.writeUInt32LE(ids[at] ?? 0, at * ID_BYTES);
  return payload;
}

/** Written by an isolate: the ids may be any numbers. */
export function decodeReading(payload: Buffer): readonly number[] {
  const count = Math.min(Math.floor(payload.length / ID_BYTES), MAX_READING);
  return Array.from({ length: count }, (_, at) => payload.readUInt32LE(at * ID_BYTES));
}
