/**
 * Bytes of messages that have begun to come and are not whole yet. Whoever sends half a message decides how long the rest takes, so what all sockets
 * of an account hold of such messages has a bound below the half of its bytes, from which on the account gets no new invocations.
 */
import { HostShare } from '../../quotas/host/host-share.js';

const MEBIBYTE = 1024 * 1024;
/** The part of the bytes that the host holds for an account at most (option hostBytes). */
const PART = 3 / 8;
const MAX_BYTES = 1024 * MEBIBYTE;

const held = new WeakMap<object, number>();

/** Counts bytes of an account; false when they are too many, and then nothing has changed. A negative number gives them back. */
export function countAssembly(owner: object, bytes: number): boolean {
  const next = (held.get(owner) ?? 0) + bytes;
  const most = owner instanceof HostShare ? owner.limits.hostBytes * PART : MAX_BYTES;
  if (bytes > 0 && next > most) return false;
  held.set(owner, next);
  return true;
}
