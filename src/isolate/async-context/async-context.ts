/** The asynchronous context of a realm. Nothing happens, and nothing is paid, until the guest enters its first frame. */
import { versions } from 'node:process';
import { OpError } from '../ops/arguments.js';
import type { OpSet } from '../ops/op-set.js';
import { ContextCarrier, Op } from '../ops/table.js';
import type { FrameCarrier, FrameSlot } from './carrier.js';
import { carryByEngine } from './engine-carrier.js';
import { carryByPromises } from './promise-carrier.js';

export class AsyncContext {
  readonly #slot: () => FrameSlot;
  #carrier: FrameCarrier | undefined;
  #isEnded = false;

  constructor(slot: () => FrameSlot) {
    this.#slot = slot;
  }

  ops(): OpSet {
    return {
      [Op.ContextStart]: () => this.#start(),
      [Op.ContextRead]: () => {
        this.#carrier?.read();
        return undefined;
      },
      [Op.ContextWrite]: () => {
        this.#carrier?.write();
        return undefined;
      },
    };
  }

  clear(): void {
    this.#carrier?.clear();
  }

  frameOfRejected(promise: unknown): unknown {
    return this.#carrier?.frameOfRejected(promise);
  }

  end(): void {
    this.#isEnded = true;
    this.#carrier?.stop();
    this.#carrier = undefined;
  }

  #start(): ContextCarrier {
    if (this.#isEnded || this.#carrier !== undefined)
      throw new OpError('Error', 'The context has been started already');
    const byEngine = carryByEngine(this.#slot(), versions.node);
    this.#carrier = byEngine ?? carryByPromises(this.#slot());
    return byEngine === undefined ? ContextCarrier.Promises : ContextCarrier.Engine;
  }
}
