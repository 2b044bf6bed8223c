/** How the package ws is used, on both sides of a connection. */

/** The bounds of every connection. */
export const SOCKET_BOUNDS = {
  /** A peer that does not answer a close, or does not read the bytes before it, is cut off after this long. */
  closeMs: 30_000,
};

export interface WsLimits {
  readonly maxPayload: number;
  /** No compression: a few bytes would become a message of any length, and each connection would hold windows of the codec. */
  readonly perMessageDeflate: false;
  /** Parts of one message, each of which is held by itself until it is whole. */
  readonly maxFragments: number;
  readonly maxBufferedChunks: number;
  readonly closeTimeout: number;
}

export function wsLimits(maxMessageBytes: number): WsLimits {
  return {
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    maxFragments: 2048,
    maxBufferedChunks: 64 * 1024,
    closeTimeout: SOCKET_BOUNDS.closeMs,
  };
}
