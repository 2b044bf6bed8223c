/**
 * The messages of a WebSocket, as they cross between the host and an isolate: records in the two bodies of an exchange, `u8 kind | u32 length | payload`
 * (little-endian), one behind the other. So they have the credit of bodies, count as bodies, and can be spliced like them.
 *
 * Constants of both realms, without imports.
 */

export enum RecordKind {
  /** UTF-8. */
  Text = 1,
  Binary = 2,
  /** u16 code, 0 for none | UTF-8 reason. The last record of its direction. */
  Close = 8,
  /** To the isolate alone, in place of a close: UTF-8 reason. The connection has ended without one. */
  Lost = 9,
}

export const RECORD_HEAD_BYTES = 5;

/** The longest payload of a Close: a code and a reason. RFC 6455, 5.5: control frames have at most 125 bytes. */
export const MAX_CLOSE_BYTES = 125;

/** The longest text of a Lost. */
export const MAX_LOST_BYTES = 1024;

/** Close codes (RFC 6455, 7.4.1). `None` and `Lost` are never sent: they say how a connection has ended. */
export enum CloseCode {
  GoingAway = 1001,
  /** The close has no code. */
  None = 1005,
  /** The connection has ended without a close. */
  Lost = 1006,
  TooBig = 1009,
  Internal = 1011,
  /** The account holds too much. */
  TryAgain = 1013,
}

/** The close codes that an end may send (RFC 6455, 7.4; those that stand for something else are never sent). */
export function isSendableCode(code: number): boolean {
  return (
    code >= 1000 && code <= 4999 && code !== 1004 && code !== CloseCode.None && code !== CloseCode.Lost && code !== 1015
  );
}
