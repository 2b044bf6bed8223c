/** ProgressEvent. @see https://xhr.spec.whatwg.org/#interface-progressevent */
import { Event } from './event.ts';
import { defineInterface, requireArguments, toDictionary, toDouble } from './idl.ts';

export class ProgressEvent extends Event {
  readonly #lengthComputable: boolean;
  readonly #loaded: number;
  readonly #total: number;

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'ProgressEvent constructor');
    super(type, init);
    const { lengthComputable, loaded = 0, total = 0 } = toDictionary(init, 'The init of the event') ?? {};
    this.#lengthComputable = !!lengthComputable;
    this.#loaded = toDouble(loaded, 'loaded');
    this.#total = toDouble(total, 'total');
  }

  get lengthComputable(): boolean {
    return this.#lengthComputable;
  }

  get loaded(): number {
    return this.#loaded;
  }

  get total(): number {
    return this.#total;
  }
}

defineInterface(ProgressEvent);
