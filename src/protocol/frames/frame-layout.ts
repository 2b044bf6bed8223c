/**
 * Frames on the wire: `u32 payload length | u8 type | u32 id | payload`, little-endian. Heads are Latin-1 when they hold HTTP
 * (method, URL and headers are byte strings) and UTF-8 when they hold JSON; the flag says which.
 */

export enum FrameType {
  /** Opens an exchange: u8 kind | u8 flags | u32 head length | head | body. */
  Open = 1,
  /** Answers it: u16 status | u8 flags | u32 head length | head | body. */
  Reply = 2,
  /** Bytes of the sender's body; delivered in chunks as they arrive. */
  Data = 3,
  /** The sender's body is complete. */
  End = 4,
  /** u32: how many more bytes may be sent. */
  Credit = 5,
  /** UTF-8 reason. The sender's side of the exchange has failed; both bodies are over. */
  Reset = 6,
  /** UTF-8 reason. The sender reads no more of the peer's body. */
  StopSending = 7,
  /** One-way message that belongs to an exchange: u8 kind | payload. */
  Signal = 8,
  /** The sender wants no more of the peer's body as data: the rest is held back until `Splice` says where it goes. */
  Pause = 9,
  /** Answers it, behind the last data: the rest of the sender's body is held back. */
  Paused = 10,
  /** u32 id: what follows of the sender's body is the rest of the peer's body of that exchange, which is paused. */
  Splice = 11,
}

/** The body is complete in this frame; no Data or End follows. */
export const FLAG_END = 1;
/** The head is UTF-8 instead of Latin-1. */
export const FLAG_UTF8 = 2;

export const HEADER_BYTES = 9;
export const MAX_DATA_BYTES = 1024 * 1024;
/** Bodies up to this size travel in the frame of their head. */
export const INLINE_BODY_BYTES = 64 * 1024;
