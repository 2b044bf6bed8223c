/** The id of an invocation in events and logs. Every event has one: most take its last two digits from a table. */

/** Parts the invocations of different hosts and runs. */
const RUN = hex(Math.floor(Math.random() * 0x1_0000_0000), 8);
const BYTES = Array.from({ length: 256 }, (_, byte) => hex(byte, 2));

/** All but the last byte of the id that was made last, and of its text. */
let lastHigh = -1;
let lastPrefix = '';

/** 16 hexadecimal digits: 8 of the run, 8 of the invocation's number in it. */
export function invocationId(serial: number): string {
  const high = Math.floor(serial / 256);
  if (high !== lastHigh) {
    lastHigh = high;
    lastPrefix = RUN + hex(high, 6);
  }
  return lastPrefix + (BYTES[serial % 256] ?? '');
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
