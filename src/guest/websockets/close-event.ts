/** CloseEvent. @see https://websockets.spec.whatwg.org/#the-closeevent-interface */
import { objectCreate } from '../primordials.ts';
import { defineInterface, requireArguments, toDictionary, toUnsignedShort, toUSVString } from '../web/base/idl.ts';
import { Event } from '../web/events/event.ts';

export class CloseEvent extends Event {
  readonly #wasClean: boolean;
  readonly #code: number;
  readonly #reason: string;

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'CloseEvent constructor');
    super(type, init);
    const { wasClean, code = 0, reason = '' } = toDictionary(init, 'The init of the event') ?? objectCreate(null);
    this.#wasClean = !!wasClean;
    this.#code = toUnsignedShort(code);
    this.#reason = toUSVString(reason);
  }

  get wasClean(): boolean {
    return this.#wasClean;
  }

  get code(): number {
    return this.#code;
  }

  get reason(): string {
    return this.#reason;
  }
}

defineInterface(CloseEvent);
