/** Objects that calls pass by reference: those that a head names, and the end of their stubs. */
import type { SentReference } from '../../bindings/function/wire.js';
import type { Peer, SharedObject } from '../invocation/peers.js';

/** The objects that a peer names in a head. @throws TypeError for a stub that it does not hold, EdgeError EDGE_OVERLOADED */
export function passedObjects(
  peer: Peer | undefined,
  references: readonly SentReference[] | undefined,
): readonly SharedObject[] {
  if (peer === undefined || references === undefined) return NO_OBJECTS;
  return references.map(reference => ('x' in reference ? peer.share(reference.x) : peer.find(reference.i)));
}

const NO_OBJECTS: readonly SharedObject[] = Object.freeze([]);

/** Objects that were sent, and to which nobody refers. */
export function forgetUnused(objects: readonly SharedObject[]): void {
  for (const object of objects) if (object.references === 0) object.owner.forget(object);
}

export function release(peer: Peer | undefined, numbers: readonly number[]): void {
  for (const number of numbers) peer?.release(number);
}
