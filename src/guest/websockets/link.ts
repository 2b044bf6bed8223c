/** The transport behind a WebSocket: the other end of its pair, or an exchange with the host. */

/** A socket, as its transport sees it. */
export interface LinkOwner {
  onMessage(data: string | Uint8Array): void;
  /** The other end has closed; `code` 0 for none. Nothing more comes. */
  onClose(code: number, reason: string): void;
  /** The connection has ended without a close. Nothing more comes. */
  onLost(reason: string): void;
}

export interface Link {
  /** The owner receives from now on. Earlier messages have waited for it. */
  start(): void;
  /** Bytes belong to the link from here on. */
  send(data: string | Uint8Array): void;
  /** Sends no more. `code` 0 for none. */
  close(code: number, reason: string): void;
  /** Keeps the attachment of a sleeping socket. */
  attach?(bytes: Uint8Array): void;
}
