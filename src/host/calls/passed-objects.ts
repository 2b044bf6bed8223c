/** Objects that calls pass by reference: those of a head, and how long their stubs last. */
import type { SentReference } from '../../bindings/function/calls.js';
import type { Peer, SharedObject } from '../invocation/peers.js';

/** The objects that a peer names in a head. @throws TypeError for a stub that it does not hold, EdgeError EDGE_OVERLOADED */
export function objectsOf(
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

/** The same body; `onEnd` is called when it is over. */
export function releasing(body: AsyncIterable<Uint8Array>, onEnd: () => void): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) onEnd();
        return next;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return() {
      onEnd();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
