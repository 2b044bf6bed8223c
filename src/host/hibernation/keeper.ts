/** The interfaces between hibernatable sockets, their objects and their functions. */
import type { BridgeWork } from '../../bindings/websocket/bridge-owner.js';
import type { HostShare } from '../../quotas/host/host-share.js';

/** Names an object of a function. */
export interface SleepingObject {
  readonly className: string;
  readonly id: string;
  readonly name?: string | undefined;
}

/** How an event of a socket begins. */
export interface SocketEventStart {
  readonly head: string;
  readonly body: Buffer | null;
  readonly timeoutMs: number | undefined;
}

/** The objects of a version of a function. */
export interface SocketRunner {
  readonly context: {
    readonly account: string;
    readonly function: string;
    readonly share: HostShare;
    readonly limits: { readonly webSocketMessageBytes: number };
  };
  /**
   * Begins an event; `onOver` is called when all of it is over. A promise when it must wait: it rejects, or the method throws, where it could not begin, and
   * then `onOver` is not called.
   */
  beginSocketEvent(object: SleepingObject, start: SocketEventStart, onOver: () => void): Promise<void> | undefined;
}

/** The function of an object. */
export interface SocketGroup {
  readonly runner: SocketRunner;
  readonly work: BridgeWork;
  count(bytes: number): void;
  charge(ms: number): void;
  /** @throws EdgeError EDGE_OVERLOADED */
  added(socket: Tagged): void;
  removed(socket: Tagged): void;
  forget(object: SleepingObject): void;
}

export interface Tagged {
  readonly tags: readonly string[];
}

/** The object of a socket. `Socket` is the implementer's own type. */
export interface SocketKeeper<Socket> {
  readonly share: HostShare;
  readonly work: BridgeWork;
  readonly maxMessageBytes: number;
  /** Counts bytes to the account. */
  count(bytes: number): void;
  /** The record with which the host itself answers a text. */
  responseTo(text: Buffer): Buffer | undefined;
  answered(socket: Socket): void;
  /** An event of the socket waits. */
  waits(socket: Socket): void;
  remove(socket: Socket): void;
}
