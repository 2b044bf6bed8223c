/**
 * Bytes of messages that have begun to arrive and are not whole yet. A sender of half a message decides how long the rest takes, so the bytes of such messages
 * on all sockets of an account are bounded. The bound is below half of the account's bytes, beyond which it gets no new invocations.
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
