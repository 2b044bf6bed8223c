/**
 * The timers of one object. While the event that has set one is open, it runs in a turn of that. Afterwards the host is asked for an event of the object,
 * in which the next one that is due runs: so its time, its calls and its logs are accounted for, and no other event of the object runs beside it.
 */
import type { TimerDue } from '../../bindings/objects/wire.ts';
import { Op } from '../../isolate/ops/table.ts';
import { op } from '../bridge.ts';
import {
  arrayPush,
  ErrorCtor,
  jsonStringify,
  SetCtor,
  setAdd,
  setClear,
  setDelete,
  setForEach,
  setHas,
} from '../primordials.ts';
import { runTimer, stopTimer, type TimerOwner } from '../web/scheduling/timers.ts';

/** The most timers of one object at a time. An isolate, which has all objects of a function, may have 10,000. */
const MAX_TIMERS = 5000;

export interface TimedObject {
  readonly className: string;
  readonly id: string;
  /** It has had no event for long enough that its instance may be given up. */
  isLeft(): boolean;
}

export class ObjectTimers implements TimerOwner {
  readonly #object: TimedObject;
  readonly #ids = new SetCtor<number>();
  #count = 0;
  /** The timers that are due and wait for an event. One that repeats waits once. */
  readonly #waiting = new SetCtor<number>();
  #due: number[] = [];
  #first = 0;
  #isAsked = false;

  constructor(object: TimedObject) {
    this.#object = object;
  }

  add(id: number): void {
    if (this.#count >= MAX_TIMERS) throw new ErrorCtor(`An object may set ${MAX_TIMERS} timers at a time`);
    setAdd(this.#ids, id);
    this.#count++;
  }

  remove(id: number): void {
    if (setDelete(this.#ids, id)) this.#count--;
  }

  due(id: number): void {
    if (this.#object.isLeft()) {
      this.clear();
      return;
    }
    if (setHas(this.#waiting, id)) return;
    setAdd(this.#waiting, id);
    arrayPush(this.#due, id);
    this.#ask();
  }

  /** The event has come: the first that is due runs, and the others wait for the next event. Those that were stopped meanwhile are left out. */
  run(): void {
    this.#isAsked = false;
    let first: number | undefined;
    while (first === undefined && this.#first < this.#due.length) {
      const id = this.#due[this.#first++] ?? 0;
      setDelete(this.#waiting, id);
      if (setHas(this.#ids, id)) first = id;
    }
    if (this.#first < this.#due.length) this.#ask();
    else this.#forgetDue();
    if (first !== undefined) runTimer(first);
  }

  /** Stops all of them. */
  clear(): void {
    const ids: number[] = [];
    setForEach(this.#ids, id => {
      arrayPush(ids, id);
    });
    for (let i = 0; i < ids.length; i++) stopTimer(ids[i] ?? 0);
    this.#forgetDue();
    setClear(this.#waiting);
  }

  #forgetDue(): void {
    this.#due = [];
    this.#first = 0;
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { className, id } = this.#object;
    const due: TimerDue = [className, id];
    op(Op.TimerDue, jsonStringify(due));
  }
}
