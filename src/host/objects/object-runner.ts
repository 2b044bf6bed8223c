/**
 * The stateful objects of one version of a function. All of them live in one isolate of their own, so each has one instance at most: the next isolate begins
 * when the one before it is gone, including the isolate of the version before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AlarmFunction } from '../../bindings/objects/alarm-claims.js';
import { namespaceKey } from '../../bindings/objects/object-id.js';
import { OBJECT_EVENTS, type ObjectEventHead } from '../../bindings/objects/wire.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { asciiJson } from '../../protocol/ascii-json.js';
import { HostOpens } from '../../protocol/messages.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import type { SleepingSockets } from '../hibernation/function-sockets.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import type { SocketEventStart } from '../hibernation/keeper.js';
import type { FunctionRunner, InvocationTarget } from '../invocation/function-runner.js';
import type { Invocation } from '../invocation/invocation.js';
import type { InvocationStart } from '../invocation/invocation-start.js';
import type { ResponseSink } from '../invocation/response-sink.js';
import { endWhenAnswered } from './end-when-answered.js';
import { TimerEvents } from './timer-events.js';

/** Names one object of the function. */
export interface ObjectName {
  readonly className: string;
  readonly id: string;
  /** The name that the id was made from, for the object to read. */
  readonly name?: string | undefined;
}

/** The rules that all objects of an application share. */
export interface ObjectRules {
  /** Objects without an event for this long are forgotten. */
  readonly idleMs: number;
  /** The WebSockets that objects have accepted to sleep. */
  readonly sockets: SleepingSockets;
  /**
   * Where several applications share a storage directory: makes sure that no other one has live objects of the function. Rejects when one has.
   *
   * @param by the version of the function
   */
  claim?(of: AlarmFunction, by: object): Promise<void>;
  /** Called when that version has no objects any more. */
  release?(of: AlarmFunction, by: object): void;
}

/** How long work may continue in an isolate that takes nothing new, before the next one replaces it. */
const LEAVE_MS = 5000;
const TIMER_START: InvocationStart = {
  kind: HostOpens.Timer,
  head: '',
  isUtf8: false,
  body: null,
  isComplete: true,
};
/** Nobody waits for the answer. */
const NO_SINK: ResponseSink = { respond: () => {}, bodyReady: () => {}, fail: () => {} };
/** The size of a waiting event, besides its texts. */
const WAITING_BYTES = 2048;

export class ObjectRunner {
  readonly #front: FunctionRunner;
  readonly #rules: ObjectRules;
  readonly #inner: FunctionRunner;
  /** Objects with open events, and how many. */
  readonly #open = new Map<string, number>();
  #last: IsolateHandle | undefined;
  #before: ObjectRunner | undefined;
  /** Starts that wait for the isolate, in their order. */
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #lastUsedMs = 0;
  /** Claims that are on their way. */
  #claiming = 0;
  /** It was retired, and its isolate is gone. */
  #isOver = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(front: FunctionRunner, rules: ObjectRules) {
    this.#front = front;
    this.#rules = rules;
    this.#inner = front.sibling(acquire => this.#next(acquire), { objectIdleMs: rules.idleMs });
    front.whenRetired(successor => this.#retire(successor));
  }

  get context(): FunctionRunner['context'] {
    return this.#front.context;
  }

  get #place(): AlarmFunction {
    const { account, function: functionName } = this.context;
    return { account, functionName };
  }

  /**
   * The target of events of one object.
   *
   * @param caller the isolate that calls. Objects of the version before call each other there, because the next version waits until they have answered.
   */
  target(object: ObjectName, caller?: IsolateHandle): InvocationTarget {
    const before = caller === undefined ? undefined : leaving.get(caller);
    if (caller !== undefined && before?.isOf(this) === true) return before.lastTarget(object, caller);
    return {
      context: this.context,
      run: (start, sink) => this.#run(object, start, sink),
      runNow: (start, sink) => this.#runNow(object, start, sink),
    };
  }

  /** Both are versions of one function. */
  isOf({ context: { account, function: name } }: ObjectRunner): boolean {
    return this.context.account === account && this.context.function === name;
  }

  /** The same as {@link target} in an isolate of this version that takes no other events. */
  lastTarget(object: ObjectName, isolate: IsolateHandle): InvocationTarget {
    const runNow = (start: InvocationStart, sink: ResponseSink): Invocation => {
      const begun = this.#begin(object, start);
      try {
        return this.#inner.runIn(isolate, begun, sink);
      } catch (error) {
        begun.object?.over();
        throw error;
      }
    };
    return { context: this.context, runNow, run: async (start, sink) => runNow(start, sink) };
  }

  /** @see SocketRunner */
  beginSocketEvent(
    object: ObjectName,
    { head, body, timeoutMs }: SocketEventStart,
    onOver: () => void,
  ): Promise<void> | undefined {
    const start = { kind: HostOpens.SocketEvent, head, isUtf8: true, body, isComplete: true, timeoutMs } as const;
    const sink: ResponseSink = { ...NO_SINK, ended: onOver };
    if (this.#runNow(object, start, sink) !== undefined) return undefined;
    return withoutCaller(() => this.#run(object, start, sink)).then(() => {});
  }

  /** @see TimerEventsOwner */
  #beginTimer(handle: IsolateHandle, object: ObjectName): boolean {
    // Its instances are gone, or about to go.
    if (this.#inner.live() !== handle) return true;
    try {
      return this.#runNow(object, TIMER_START, NO_SINK) !== undefined;
    } catch (error) {
      if (errorCode(error) === 'EDGE_OVERLOADED') return false;
      throw error;
    }
  }

  #runNow(object: ObjectName, start: InvocationStart, sink: ResponseSink): Invocation | undefined {
    // Events keep their order.
    if (this.#waiting > 0 || this.#inner.live() === undefined) return undefined;
    const begun = this.#begin(object, start);
    try {
      const invocation = this.#inner.runNow(begun, sink);
      if (invocation === undefined) begun.object?.over();
      return invocation;
    } catch (error) {
      begun.object?.over();
      throw error;
    }
  }

  async #run(object: ObjectName, start: InvocationStart, sink: ResponseSink): Promise<Invocation> {
    const begun = this.#begin(object, start);
    const { bytes } = this.context.share;
    const heldBytes = WAITING_BYTES + start.head.length * 2 + (start.body?.length ?? 0) * 2;
    bytes.countHeap(heldBytes);
    this.#waiting++;
    const started = this.#tail.then(() => this.#inner.run(begun, sink));
    // A start that fails fails those that have waited behind it: each of them would only try the same.
    this.#tail = started.catch(error => {
      if (this.#waiting > 1 && !OWN_FAILURES.has(errorCode(error) ?? '')) throw error;
    });
    this.#tail.catch(() => {});
    try {
      return await started;
    } catch (error) {
      begun.object?.over();
      throw error;
    } finally {
      bytes.countHeap(-heldBytes);
      if (--this.#waiting === 0) this.#tail = Promise.resolve();
    }
  }

  /** @throws EdgeError EDGE_OVERLOADED */
  #begin({ className, id, name }: ObjectName, start: InvocationStart): InvocationStart {
    const key = `${className}/${id}`;
    const open = this.#open.get(key) ?? 0;
    const { idleMs } = this.#rules;
    const maxEvents = this.context.limits.objectEvents;
    if (open >= maxEvents) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Object ${id} of class "${className}" has ${open} events that are not over, at most ${maxEvents} are allowed (limit objectEvents): it takes no more`,
      );
    }
    this.#open.set(key, open + 1);
    // Timers keep no object awake.
    const isTimer = start.kind === HostOpens.Timer;
    if (!isTimer) this.#lastUsedMs = performance.now();
    this.#sweep ??= setInterval(
      guarded(() => this.#endIdle()),
      idleMs,
    ).unref();
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      if (!isTimer) this.#lastUsedMs = performance.now();
      const left = (this.#open.get(key) ?? 1) - 1;
      if (left > 0) this.#open.set(key, left);
      else this.#open.delete(key);
    };
    // The version before may have accepted WebSockets while this event waited.
    const lead = (): string => {
      const sockets = this.#rules.sockets.find(this)?.find(className, id);
      const head: ObjectEventHead = { c: className, i: id, ...(name !== undefined && { n: name }), ...sockets?.lead() };
      return `${letterOf(start)}${asciiJson(head)}\n`;
    };
    const socket = (number: number): SleepingSocket | undefined =>
      this.#rules.sockets.find(this)?.find(className, id)?.sockets.get(number);
    return { ...start, object: { className, id, lead, socket, over } };
  }

  /** All objects have been idle for long enough: the isolate goes. */
  #endIdle(): void {
    if (this.#open.size > 0 || performance.now() - this.#lastUsedMs < this.#rules.idleMs) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
    this.#inner.letGo();
  }

  /** The next isolate, when the one before it is gone: this includes the isolate of the version before. */
  async #next(acquire: () => Promise<IsolateHandle>): Promise<IsolateHandle> {
    const before = this.#before;
    this.#before = undefined;
    await before?.ended();
    await this.ended();
    await this.#claim();
    const handle = await acquire();
    const { account, function: functionName, share } = this.context;
    new TimerEvents(
      {
        share,
        keyOf: className => namespaceKey(account, functionName, className),
        begin: object => this.#beginTimer(handle, object),
      },
      handle,
    );
    this.#last = handle;
    return handle;
  }

  /** Before its isolate begins. A runner that was retired meanwhile releases a claim that came too late. */
  async #claim(): Promise<void> {
    const { claim } = this.#rules;
    if (claim === undefined) return;
    if (this.#isOver) throw endedError();
    this.#claiming++;
    try {
      await claim(this.#place, this);
    } finally {
      if (--this.#claiming === 0 && this.#isOver) this.#rules.release?.(this.#place, this);
    }
    if (this.#isOver) throw endedError();
  }

  /** Its isolate is gone, and no other follows. */
  #over(): void {
    this.#isOver = true;
    if (this.#claiming === 0) this.#rules.release?.(this.#place, this);
  }

  /** Resolves when its isolate is gone. Work that still runs there is ended after a while. */
  async ended(): Promise<void> {
    const last = this.#last;
    if (last === undefined) return;
    const gone = new Promise<void>(resolve => last.whenGone(() => resolve()));
    const waiting = new AbortController();
    last.retire();
    await Promise.race([gone, sleep(LEAVE_MS, undefined, { signal: waiting.signal, ref: false }).catch(() => {})]);
    waiting.abort();
    last.end();
    await gone;
    if (this.#last === last) this.#last = undefined;
  }

  #retire(successor: FunctionRunner | EdgeError): void {
    clearInterval(this.#sweep);
    if ('code' in successor) {
      this.#rules.sockets.end(this, successor);
      this.#inner.retire(successor);
    } else {
      const next = objectRunnerOf(successor, this.#rules);
      next.#before = this;
      this.#rules.sockets.moved(this, next);
      this.#inner.retire(next.#inner);
    }
    if ('code' in successor) {
      this.#last?.end();
      detached(this.ended().then(() => this.#over()));
      return;
    }
    // The claim goes over to the next version without a gap in which another application could have it.
    const next = objectRunnerOf(successor, this.#rules);
    const over = (): Promise<void> => this.ended().then(() => this.#over());
    if (this.#last === undefined) {
      this.#over();
      return;
    }
    // The instances of the next version begin when these have answered what they have begun.
    leaving.set(this.#last, this);
    endWhenAnswered(this.#last);
    detached(next.#claim().then(over, over));
  }
}

function endedError(): EdgeError {
  return new EdgeError('EDGE_ISOLATE_LOST', 'The version of the function ended while it began');
}

/** The runners whose isolates answer what they have begun, while the next version waits for their ends. */
const leaving = new WeakMap<IsolateHandle, ObjectRunner>();

/** Failures of a start that others need not share. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['EDGE_TIMEOUT', 'EDGE_OVERLOADED']);

const runners = new WeakMap<FunctionRunner, ObjectRunner>();

/** The objects of a version of a function, made when they are first asked for. */
export function objectRunnerOf(runner: FunctionRunner, rules: ObjectRules): ObjectRunner {
  const known = runners.get(runner);
  if (known !== undefined) return known;
  const made = new ObjectRunner(runner, rules);
  runners.set(runner, made);
  return made;
}

function letterOf({ kind }: InvocationStart): string {
  if (kind === HostOpens.Fetch) return OBJECT_EVENTS.fetch;
  if (kind === HostOpens.SocketEvent) return OBJECT_EVENTS.socket;
  if (kind === HostOpens.Timer) return OBJECT_EVENTS.timer;
  return kind === HostOpens.Rpc ? OBJECT_EVENTS.rpc : OBJECT_EVENTS.alarm;
}
