/** The objects of timers. @see https://nodejs.org/api/timers.html#class-timeout */
import { currentFrame, type Frame, runInFrame } from '../../web/base/async-context.ts';
import { startTimer, stopTimer } from '../../web/scheduling/timers.ts';
import { type AnyFunction, checkFunction } from '../errors.ts';

const MAX_DELAY_MS = 2 ** 31 - 1;
const dispose: symbol = (Symbol as { readonly dispose?: symbol }).dispose ?? Symbol('Symbol.dispose'); // absent in ES2023

function delayOf(given: unknown): number {
  const delayMs = Number(given);
  return delayMs >= 1 && delayMs <= MAX_DELAY_MS ? Math.trunc(delayMs) : 1;
}

class Started {
  readonly #callback: AnyFunction;
  readonly #args: readonly unknown[];
  readonly #frame: Frame | undefined = currentFrame();
  #hasRef = true;

  constructor(callback: unknown, args: readonly unknown[]) {
    checkFunction(callback, 'callback');
    this.#callback = callback;
    this.#args = args;
  }

  protected call(): void {
    runInFrame(this.#frame, this.#callback, this, this.#args);
  }

  /** Timers never keep an invocation open, so the word is only kept. */
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
}

export class Timeout extends Started {
  readonly #delayMs: number;
  readonly #repeats: boolean;
  /** Zero when it has been stopped, or has run. */
  #id = 0;

  constructor(callback: unknown, delay: unknown, args: readonly unknown[], repeats: boolean) {
    super(callback, args);
    this.#delayMs = delayOf(delay);
    this.#repeats = repeats;
    this.#start();
  }

  refresh(): this {
    if (this.#id !== 0) {
      stopTimer(this.#id);
      this.#start();
    }
    return this;
  }

  close(): this {
    if (this.#id !== 0) stopTimer(this.#id);
    this.#id = 0;
    return this;
  }

  override hasRef(): boolean {
    return this.#id !== 0 && super.hasRef();
  }

  /** The global clearTimeout() takes the number. */
  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [dispose](): void {
    this.close();
  }

  #start(): void {
    this.#id = startTimer(this.#delayMs, () => {
      this.#id = 0;
      // Before the callback, which may stop it.
      if (this.#repeats) this.#start();
      this.call();
    });
  }
}

export class Immediate extends Started {
  #id: number;

  constructor(callback: unknown, args: readonly unknown[]) {
    super(callback, args);
    this.#id = startTimer(0, () => {
      this.#id = 0;
      this.call();
    });
  }

  stop(): void {
    if (this.#id !== 0) stopTimer(this.#id);
    this.#id = 0;
  }

  override hasRef(): boolean {
    return this.#id !== 0 && super.hasRef();
  }

  [dispose](): void {
    this.stop();
  }
}
