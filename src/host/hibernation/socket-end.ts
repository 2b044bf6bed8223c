/** The other end of a sleeping WebSocket, as the one who keeps the socket sees it: a connection, or code of this host. */

export interface SocketEnd {
  /** A record of the object, whole. @throws RecordError; the connection is closed then */
  receive(record: Buffer): boolean;
  /** The bytes that the other end has not taken yet. */
  readonly unsentBytes: number;
  /** More messages are wanted. */
  resume(): void;
  /** Closes from this side; does nothing when it is closing. */
  end(code: number, reason: string): void;
  /** Ends it at once. */
  drop(why: string): void;
}
