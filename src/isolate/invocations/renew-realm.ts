/**
 * Gives the thread of a finished run a new realm for the next one. The realm before must be over by then: no turn, timer, call or other work of it is left that
 * could enter it again, its function of the bridge refuses everything, and its queue takes no turns. A promise in it that nobody settles is garbage.
 *
 * When something could have survived, the host ends the thread instead.
 */
import { getHeapStatistics } from 'node:v8';
import type { Exchange } from '../../protocol/exchange.js';
import type { Isolate } from '../isolate.js';
import { collectGarbage } from '../metering/collect-garbage.js';
import { useStackPlaces } from '../stacks/stack-formatter.js';

/** A run ends in the middle of its last turn, so the end of that turn, and what Node does behind it, may be to come. */
const MAX_ROUNDS = 10;
/** The garbage of earlier runs is collected here, where no run waits for it. A realm takes 0.6 MB (measured on Node 20.20), so it is rare. */
const COLLECT_FROM_BYTES = 32 * 1024 * 1024;
/** Memory that a collection leaves is not garbage: something holds it. */
const MAX_LEFT_BYTES = 24 * 1024 * 1024;

/** Answers the exchange, and returns the isolate that has the connection from now on. */
export async function renewRealm(before: Isolate, make: () => Isolate, exchange: Exchange): Promise<Isolate> {
  for (let round = 0; round < MAX_ROUNDS && before.leftover !== undefined; round++) await nextRound();
  const { leftover } = before;
  if (leftover !== undefined) {
    exchange.reply(409, leftover, true, null, true);
    return before;
  }
  const next = make();
  next.succeed(before);
  // It has the modules of the run, and they have its realm.
  useStackPlaces(place => place);
  const isTooLarge = heapBytes() > COLLECT_FROM_BYTES && bytesLeft() > MAX_LEFT_BYTES;
  exchange.reply(isTooLarge ? 409 : 200, isTooLarge ? 'too much memory is held' : '', true, null, true);
  return next;
}

function nextRound(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}

function bytesLeft(): number {
  collectGarbage();
  return heapBytes();
}

function heapBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
