/**
 * Sleeping WebSockets on their way to a client: an object has answered the request of another function with one, and that function may answer its own
 * request with it. It knows the socket by a number, which holds for its invocation alone.
 */
import type { SleepingSocket } from './hibernatable-socket.js';

/** An invocation as one end of calls. */
export interface SocketHolder {
  /** Calls the listener when it is over. */
  whenOver(listener: () => void): void;
}

const handed = new WeakMap<SocketHolder, Map<number, SleepingSocket>>();
let last = 0;

/** A socket that is not passed on before the invocation ends is closed. */
export function handTo(peer: SocketHolder, socket: SleepingSocket): number {
  const number = ++last;
  const sockets = handed.get(peer) ?? new Map<number, SleepingSocket>();
  handed.set(peer, sockets);
  sockets.set(number, socket);
  peer.whenOver(() => {
    if (sockets.delete(number)) socket.drop();
  });
  return number;
}

/** The caller connects it, or drops it. */
export function takeHanded(peer: SocketHolder, number: number): SleepingSocket | undefined {
  const sockets = handed.get(peer);
  const socket = sockets?.get(number);
  sockets?.delete(number);
  return socket;
}

/** The longest body of an answer with a socket: a letter and a number. */
const MAX_ANSWER_BYTES = 16;

/**
 * The socket that an invocation answers its request with, by the body of its answer: one that its own object has accepted ("o" and its number), or that it
 * was handed ("h" and its number). Undefined for what an isolate has made up.
 */
export function answeredSocket(
  body: Buffer,
  { object }: { readonly object?: { socket(number: number): SleepingSocket | undefined } | undefined },
  { peer }: { readonly peer: SocketHolder },
): SleepingSocket | undefined {
  if (body.length > MAX_ANSWER_BYTES) return undefined;
  const [, letter, digits] = /^([oh])(\d{1,15})$/.exec(body.toString('latin1')) ?? [];
  if (digits === undefined) return undefined;
  const socket = letter === 'o' ? object?.socket(Number(digits)) : takeHanded(peer, Number(digits));
  return socket?.isPending === true ? socket : undefined;
}
