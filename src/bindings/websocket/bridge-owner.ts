/** The owner of a bridge of a WebSocket: it gets the messages, and the account that the work is charged to. */
import type { CallWork } from '../../quotas/host/call-work.js';

/** The host's work for a connection, counted to its account. */
export type BridgeWork = Pick<CallWork, 'owner' | 'charge' | 'turn' | 'countBytes'>;

/** Where the records go. */
export interface BridgeOwner {
  /** Records for the isolate, with this many messages. False: no more before `resume`. */
  records(bytes: Uint8Array, messages: number): boolean;
  /** The connection has ended, and the last record has said so. Called once, last. */
  closed(isClean: boolean): void;
  /** More of what the isolate sends can be taken. */
  drained(): void;
}

/** Takes messages as they are, in place of records. */
export interface MessageOwner {
  /** A view that stays as it is. False: no more before `resume`. */
  message(data: Buffer, isBinary: boolean): boolean;
  /** The connection has ended: code 1005 for a close without one, 1006 when no close arrived. `failure` describes the error, if any. Called once, last. */
  ended(code: number, reason: string, failure: string): void;
  drained(): void;
}
