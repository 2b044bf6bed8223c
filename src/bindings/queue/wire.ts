/** The calls of a queue's client to its service: the arguments beside a body that has the bytes of all messages, one after the other. */

export const CONTENT_TYPES = ['json', 'text', 'bytes', 'v8'] as const;

/** How the body of a message was encoded. `v8` is a structured clone in the form of structured.ts. */
export type QueueContentType = (typeof CONTENT_TYPES)[number];

export interface WireMessage {
  /** The content type. */
  readonly t: QueueContentType;
  /** The length of its body, in bytes. */
  readonly n: number;
  /** Its delay, in seconds. */
  readonly d?: number | undefined;
}

export interface WireSend {
  readonly m: readonly WireMessage[];
  /** The delay of messages that have none, in seconds. */
  readonly d?: number | undefined;
}

/** The answer to both: how much the queue holds now. */
export interface WireMetrics {
  readonly backlogCount: number;
  readonly backlogBytes: number;
  /** Milliseconds since the epoch. */
  readonly oldestMessageTimestamp?: number;
}

/** The part of a binding's configuration that the client in the function's realm needs. */
export interface GuestQueueConfig {
  /** The content type of messages that name none. */
  readonly contentType: QueueContentType;
}
