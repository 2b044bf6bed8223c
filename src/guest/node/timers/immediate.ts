/** setImmediate(): a timer without delay, which runs after the code and the promises of the turn. */
import { startTimer, stopTimer } from '../../web/scheduling/timers.ts';
import { checkFunction } from '../errors.ts';

export class Immediate {
  #id: number | undefined;
  #hasRef = true;

  constructor(callback: (...args: never[]) => unknown, args: readonly unknown[]) {
    this.#id = startTimer(0, () => {
      this.#id = undefined;
      Reflect.apply(callback, undefined, args);
    });
  }

  /** An invocation waits for nothing but its handler, so these change nothing but the answer of hasRef(). */
  ref(): this {
    this.#hasRef = true;
    return this;
  }

  unref(): this {
    this.#hasRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#hasRef;
  }

  static clear(immediate: unknown): void {
    if (typeof immediate !== 'object' || immediate === null || !(#id in immediate)) return;
    if (immediate.#id !== undefined) stopTimer(immediate.#id);
    immediate.#id = undefined;
  }
}

const { clear } = Immediate;
Reflect.deleteProperty(Immediate, 'clear');

export function setImmediate(callback: unknown, ...args: unknown[]): Immediate {
  checkFunction(callback, 'callback');
  return new Immediate(callback, args);
}

export function clearImmediate(immediate?: unknown): void {
  clear(immediate);
}
