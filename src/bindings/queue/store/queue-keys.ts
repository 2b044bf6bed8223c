/**
 * Where queues keep their records in the storage. Queue ids are made by the host and hold no "/".
 *
 *     ja<account>/<queue name>           a queue
 *     jm<queue id>/<due>/<serial>        a message, by when it may be delivered; serials of one process rise
 *     jc<queue id>                       how many messages the queue has, and the bytes of their bodies
 *     jr<queue id>                       a queue of an account that was removed: its messages are being removed
 */
export const queueKeys = {
  /** The prefix of all queues. */
  allQueues: () => 'ja',
  messages: (queueId: string) => `jm${queueId}/`,
  /** The part of a message's key behind `messages`. */
  place: (dueMs: number, serial: string) => `${queueKeys.due(dueMs)}/${serial}`,
  due: (dueMs: number) => String(Math.max(0, Math.floor(dueMs))).padStart(DUE_DIGITS, '0'),
  sum: (queueId: string) => `jc${queueId}`,
  removed: (queueId: string) => `jr${queueId}`,
  /** The prefix of all queues. */
  removedQueues: () => 'jr',
} as const;

const DUE_DIGITS = 15;

export const QUEUE_KEYSPACE: readonly string[] = ['j'];

/** When the message at this place may be delivered, in milliseconds since the epoch. */
export function dueOf(place: string): number {
  return Number(place.slice(0, DUE_DIGITS));
}
