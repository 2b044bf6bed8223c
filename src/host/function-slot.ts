/** A name under which functions are loaded, and the version that serves under it: what handles follow. */
import type { EdgeError } from '../quotas/errors.js';
import { type FunctionRunner, unloadedError } from './invocation/function-runner.js';
import { FunctionStats } from './invocation/function-stats.js';

/** Details of the version that serves, or of the last one that did. */
export interface FunctionDetails {
  readonly version: string;
  readonly startupTimeMs: number;
  readonly handlers: readonly string[];
  readonly stats: FunctionStats;
}

const NEVER_LOADED: FunctionDetails = { version: '', startupTimeMs: 0, handlers: [], stats: new FunctionStats() };

export class FunctionSlot {
  readonly account: string;
  readonly name: string;
  readonly #find: () => FunctionSlot | undefined;
  #runner: FunctionRunner | undefined;
  #stats = NEVER_LOADED.stats;
  #last = NEVER_LOADED;
  #error: EdgeError | undefined;

  /** `find` answers the slot of this name that serves now, when the function was unloaded and loaded again. */
  constructor(account: string, name: string, find: () => FunctionSlot | undefined) {
    this.account = account;
    this.name = name;
    this.#find = find;
  }

  /** From here on this version serves. */
  serve(runner: FunctionRunner, stats: FunctionStats): void {
    this.#runner = runner;
    this.#stats = stats;
  }

  /** No version serves any more, because of the error. The script is released; its details are kept. */
  end(error: EdgeError): void {
    this.#last = this.details;
    this.#runner = undefined;
    this.#error = error;
  }

  /** @throws EdgeError EDGE_FUNCTION_UNLOADED; EDGE_CLOSED when the host is */
  get runner(): FunctionRunner {
    const runner = this.#runner ?? this.#successor?.runner;
    if (runner === undefined) throw this.#error ?? unloadedError({ account: this.account, function: this.name });
    return runner;
  }

  get details(): FunctionDetails {
    const runner = this.#runner;
    if (runner === undefined) return this.#successor?.details ?? this.#last;
    const { startupTimeMs, handlers, context } = runner;
    return { version: context.version, startupTimeMs, handlers, stats: this.#stats };
  }

  get #successor(): FunctionSlot | undefined {
    const slot = this.#find();
    return slot === this ? undefined : slot;
  }
}

/** By handle: endpoints of the host reach the version behind one. */
const slots = new WeakMap<object, FunctionSlot>();

export function rememberSlot(handle: object, slot: FunctionSlot): void {
  slots.set(handle, slot);
}

/** @throws TypeError for anything but a function that a host has loaded */
export function slotOf(handle: object): FunctionSlot {
  const slot = slots.get(handle);
  if (slot === undefined) throw new TypeError('Option function of listener() is not a function that host.load() gave');
  return slot;
}
