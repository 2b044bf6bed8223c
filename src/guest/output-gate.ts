/**
 * The output gate of the stateful objects in this realm: what leaves waits until all that they have written before is on disk, and never leaves when
 * that has failed. One gate for all of them, because whose code runs cannot be told: a promise may let code of one object go on in a turn of another.
 * Without objects it is always open.
 */
import { arrayPush, arraySplice, PromiseCtor, promiseThen, SetCtor, setAdd, setDelete } from './primordials.ts';

interface Leaving {
  /** It waits for all writes up to this number. */
  readonly after: number;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
  failure: { readonly error: unknown } | undefined;
}

/** The number of the last write. */
let begun = 0;
/** All writes up to this number have ended. */
let ended = 0;
/** Those behind it that have ended. */
const early = new SetCtor<number>();
/** In their order, which is kept. */
let waiting: Leaving[] = [];
let first = 0;
let isReleasing = false;
const COMPACT_AT = 256;

/** Nothing leaves until `written` resolves. When it rejects, what has waited for it is refused. */
export function holdLeaving(written: Promise<unknown>): void {
  const number = ++begun;
  promiseThen(
    written,
    () => end(number),
    (error: unknown) => {
      for (let i = first; i < waiting.length; i++) {
        const leaving = waiting[i];
        if (leaving !== undefined && leaving.after >= number) leaving.failure ??= { error };
      }
      end(number);
    },
  );
}

export function mayLeave(): boolean {
  return begun === ended && first === waiting.length;
}

/** Calls `go` in the order of these calls: now, or when what was written so far is on disk; `refuse` in place of it when that has failed. */
export function leave(go: () => void, refuse: (error: unknown) => void): void {
  if (mayLeave()) go();
  else arrayPush(waiting, { after: begun, go, refuse, failure: undefined });
}

/** The same for a step whose outcome somebody waits for. */
export function leaving<T>(step: () => T | Promise<T>): Promise<T> {
  return new PromiseCtor((resolve, reject) => {
    leave(() => {
      try {
        resolve(step());
      } catch (error) {
        reject(error);
      }
    }, reject);
  });
}

function end(number: number): void {
  setAdd(early, number);
  while (setDelete(early, ended + 1)) ended++;
  if (!isReleasing) release();
}

function release(): void {
  isReleasing = true;
  try {
    for (;;) {
      const next = waiting[first];
      if (next === undefined || next.after > ended) break;
      first++;
      if (first >= COMPACT_AT) {
        arraySplice(waiting, 0, first);
        first = 0;
      }
      if (next.failure === undefined) next.go();
      else next.refuse(next.failure.error);
    }
    if (first === waiting.length && first > 0) {
      waiting = [];
      first = 0;
    }
  } finally {
    isReleasing = false;
  }
}
