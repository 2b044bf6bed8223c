/** Logging, the clock, randomness and the hand-over of bytes. */
import { checkedInteger, checkedText, copyOut, guestByteLength, OpError } from './arguments.js';
import type { OpContext, OpSet } from './op-set.js';
import { systemRandom } from './random-source.js';
import { Op } from './table.js';

const MAX_LOG_CHARACTERS = 128 * 1024;
/** Coarse, so that the clock reveals little about the processor's work for other functions. */
const CLOCK_TICKS_PER_MS = 10;
const MAX_RANDOM_BYTES = 65_536;

export interface BasicsOwner extends OpContext {
  log(level: number, text: string): void;
  /** The bytes that `leaveBytes` has left; they can be taken once. */
  takeBytes(): Uint8Array | undefined;
}

export function basicOps(owner: BasicsOwner): OpSet {
  return {
    [Op.Take]: target => {
      const bytes = owner.takeBytes();
      if (bytes === undefined) throw new OpError('Error', 'There are no bytes to take');
      copyOut(target, bytes);
      return bytes.length;
    },
    [Op.Log]: (level, text) => {
      const checked = checkedText(text, 0x1fff_ffff);
      owner.log(checkedInteger(level, 0, 4), checked.slice(0, MAX_LOG_CHARACTERS));
      return undefined;
    },
    [Op.Now]: () => Math.floor(performance.now() * CLOCK_TICKS_PER_MS) / CLOCK_TICKS_PER_MS,
    [Op.Random]: target => {
      if (owner.currentInvocation() === 0) {
        throw new OpError(
          'Error',
          'Random values cannot be made in the global scope; make them while a request is being handled',
        );
      }
      const bytes = Buffer.allocUnsafe(guestByteLength(target, MAX_RANDOM_BYTES));
      (owner.keyedRandom ?? systemRandom)(bytes);
      copyOut(target, bytes);
      return undefined;
    },
  };
}
