/** One live instance of a stateful object: the events that wait for it, those that run, and how it ends. */
import { Op } from '../../isolate/ops/table.ts';
import { opNumber } from '../bridge.ts';
import type { GuestInvocation } from '../events/invocation.ts';
import { resume } from '../events/resume.ts';
import { arrayPush, ErrorCtor, SetCtor, setAdd, setDelete, setForEach } from '../primordials.ts';
import { Gates } from './gates.ts';
import type { ObjectTimers } from './object-timers.ts';
import type { GuestObjectSockets } from './sockets/object-sockets.ts';

/** An event of an object, as far as its delivery goes. */
export interface ObjectEvent {
  readonly invocation: GuestInvocation;
  /** All of it is there. Events are delivered in the order in which they came. */
  isReady: boolean;
  /** Calls the object, in a turn of the event. */
  deliver(): void;
  /** The event runs a timer, and does not keep the object awake. */
  readonly isTimer?: boolean;
  /** The object was reset. */
  broken(error: unknown): void;
}

export class GuestLiveObject {
  readonly className: string;
  readonly id: string;
  /** The name that its id was made from, where it is known. */
  readonly name: string | undefined;
  readonly gates: Gates;
  /** Set when it is constructed. */
  instance: object | undefined = undefined;
  lastUsedMs = 0;
  /** Sockets that it has accepted to sleep; made when there is one, or a rule for them. */
  sockets: GuestObjectSockets | undefined = undefined;
  /** The timers that it has set; created with the first one. */
  timers: ObjectTimers | undefined = undefined;
  readonly #onBroken: (object: GuestLiveObject) => void;
  /** Events that have come and are not over. */
  readonly #open = new SetCtor<ObjectEvent>();
  #openCount = 0;
  /** How many open events run no timer. */
  #othersCount = 0;
  #queue: ObjectEvent[] = [];
  #first = 0;
  #isResuming = false;
  #broken: { readonly error: unknown } | undefined = undefined;

  constructor(className: string, id: string, name: string | undefined, onBroken: (object: GuestLiveObject) => void) {
    this.className = className;
    this.id = id;
    this.name = name;
    this.#onBroken = onBroken;
    this.gates = new Gates(
      () => this.pump(0),
      error => this.reset(error),
    );
  }

  /** Why it was reset. */
  get broken(): { readonly error: unknown } | undefined {
    return this.#broken;
  }

  /** Nothing of it is open. */
  get isIdle(): boolean {
    return this.#openCount === 0 && this.gates.isInputOpen && this.gates.isOutputOpen;
  }

  /** It has had only timers for long enough that its instance may be given up. */
  isLeftFor(idleMs: number): boolean {
    return this.#othersCount === 0 && opNumber(Op.Now) - this.lastUsedMs >= idleMs;
  }

  /** An event has come, in its own turn. */
  receive(event: ObjectEvent): void {
    setAdd(this.#open, event);
    this.#openCount++;
    if (event.isTimer !== true) this.#othersCount++;
    if (event.isReady && this.#queue.length === this.#first && !this.#isResuming && this.gates.isInputOpen) {
      event.deliver();
      return;
    }
    arrayPush(this.#queue, event);
  }

  /** The event is over: answered, and nothing of it is left. */
  ended(event: ObjectEvent): void {
    if (!setDelete(this.#open, event)) return;
    this.#openCount--;
    if (event.isTimer === true) return;
    this.#othersCount--;
    // Only timers need to know when the last event was.
    if (this.timers !== undefined) this.lastUsedMs = opNumber(Op.Now);
  }

  /**
   * Delivers waiting events while the gate is open.
   * @param current the invocation whose turn it is; 0 when that is unknown
   */
  pump(current: number): void {
    for (;;) {
      const event = this.#queue[this.#first];
      if (event === undefined || !event.isReady || this.#isResuming || !this.gates.isInputOpen) return;
      if (event.invocation.id === current) {
        this.#take();
        event.deliver();
        continue;
      }
      const isResumed = resume(event.invocation.id, () => {
        this.#isResuming = false;
        this.pump(event.invocation.id);
      });
      this.#isResuming = isResumed;
      // It is over, and waits no more.
      if (!isResumed) this.#take();
    }
  }

  /** An event has gone while it waited. */
  gone(event: ObjectEvent): void {
    this.ended(event);
    // A turn for it does not come any more.
    if (this.#queue[this.#first] === event) this.#isResuming = false;
    const left: ObjectEvent[] = [];
    for (let i = this.#first; i < this.#queue.length; i++) {
      const waiting = this.#queue[i];
      if (waiting !== undefined && waiting !== event) arrayPush(left, waiting);
    }
    this.#queue = left;
    this.#first = 0;
    this.pump(0);
  }

  /** Ends the instance: whatever it was doing fails with the error, and the next call makes a new one. */
  reset(error: unknown): void {
    if (this.#broken !== undefined) return;
    this.sockets?.outbox.sendLast();
    this.#broken = { error: error ?? new ErrorCtor('The object was reset') };
    const { error: reason } = this.#broken;
    this.#queue = [];
    this.#first = 0;
    this.#onBroken(this);
    const open: ObjectEvent[] = [];
    setForEach(this.#open, event => {
      arrayPush(open, event);
    });
    for (let i = 0; i < open.length; i++) open[i]?.broken(reason);
    this.timers?.clear();
    this.gates.break();
  }

  #take(): void {
    this.#first++;
    if (this.#first < 64 && this.#first < this.#queue.length) return;
    const left: ObjectEvent[] = [];
    for (let i = this.#first; i < this.#queue.length; i++) {
      const event = this.#queue[i];
      if (event !== undefined) arrayPush(left, event);
    }
    this.#queue = left;
    this.#first = 0;
  }
}
