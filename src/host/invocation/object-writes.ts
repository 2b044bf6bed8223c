/**
 * The host's part of the output gate (src/guest/output-gate.ts): in-flight writes of stateful objects, by isolate, and the answers that wait for them. The
 * rows of bindings say which calls are writes.
 */
import type { ObjectStep } from '../../bindings/binding.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { HostShare } from '../../quotas/host/host-share.js';

/** One object in one isolate, while it has writes in flight, or one has failed that the isolate may not know of yet. */
interface ObjectWrites {
  last: ObjectWrite;
  /** "Name\nmessage\ncode" */
  failure: string | undefined;
}

const isolates = new WeakMap<IsolateHandle, Map<string, ObjectWrites>>();

/** A class, whose name has at most 255 characters of two units each, and an id. */
const MAX_KEY_CHARACTERS = 576;

/** A step of an object has come. @returns the write that it is; undefined when a new instance begins */
export function beginStep(isolate: IsolateHandle, { className, id, isNew }: ObjectStep): ObjectWrite | undefined {
  const key = `${className}/${id}`;
  let objects = isolates.get(isolate);
  if (isNew) {
    // The writes of an earlier instance no longer concern this one, even when one has failed.
    objects?.delete(key);
    return undefined;
  }
  if (key.length > MAX_KEY_CHARACTERS) return undefined;
  if (objects === undefined) {
    objects = new Map();
    isolates.set(isolate, objects);
  }
  return new ObjectWrite(objects, key);
}

/** The last write that has come before an answer of the object, and is not on disk. */
export function writeBefore(
  isolate: IsolateHandle,
  { className, id }: { readonly className: string; readonly id: string },
): ObjectWrite | undefined {
  const objects = isolates.get(isolate);
  return objects === undefined || objects.size === 0 ? undefined : objects.get(`${className}/${id}`)?.last;
}

export class ObjectWrite {
  readonly #objects: Map<string, ObjectWrites>;
  readonly #key: string;
  readonly #writes: ObjectWrites;
  #isSettled = false;
  #waiting: ((failure: string | undefined) => void)[] = [];

  constructor(objects: Map<string, ObjectWrites>, key: string) {
    this.#objects = objects;
    this.#key = key;
    const writes = objects.get(key) ?? { last: this, failure: undefined };
    writes.last = this;
    this.#writes = writes;
    objects.set(key, writes);
  }

  /** Calls the listener when the write is on disk, or it or one before it has failed. */
  whenSettled(listener: (failure: string | undefined) => void): void {
    if (this.#isSettled) listener(this.#writes.failure);
    else this.#waiting.push(listener);
  }

  /** @returns whether the isolate must learn of a failure: until then, `forget` must not be called */
  settle(failure: string | undefined): boolean {
    this.#isSettled = true;
    const writes = this.#writes;
    writes.failure ??= failure;
    if (writes.failure === undefined && writes.last === this) this.forget();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const listener of waiting) listener(writes.failure);
    return failure !== undefined;
  }

  /** The isolate knows: what it sends from now on is of another instance of the object. */
  forget(): void {
    if (this.#objects.get(this.#key) === this.#writes) this.#objects.delete(this.#key);
  }
}

/** An answer that is kept back, and the end of its invocation, which may come before it goes out. */
export class HeldAnswer {
  readonly answer: readonly [status: number, head: string, body: Buffer, isComplete: boolean];
  done: readonly [cpuMs: number, peakBytes: number, flags: number] | undefined;
  readonly #share: HostShare;

  /** @param body is copied */
  constructor(share: HostShare, status: number, head: string, body: Buffer, isComplete: boolean) {
    this.answer = [status, head, Buffer.from(body), isComplete];
    this.#share = share;
    share.bytes.countBuffers(this.#bytes);
  }

  release(): void {
    this.#share.bytes.countBuffers(-this.#bytes);
  }

  get #bytes(): number {
    const [, head, body] = this.answer;
    return head.length + body.length;
  }
}
