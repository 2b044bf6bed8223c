/**
 * The output gate of the stateful objects in this realm: what leaves waits until all that they have written before is on disk, and never leaves when
 * that has failed. One gate for all of them, because whose code runs cannot be told: a promise may let code of one object go on in a turn of another.
 * Without objects it is always open.
 */
import { Barrier } from './barrier.ts';
import { PromiseCtor, promiseThen } from './primordials.ts';

const writes = new Barrier();

/** Nothing leaves until `written` resolves. When it rejects, what has waited for it is refused. */
export function holdLeaving(written: Promise<unknown>): void {
  const number = writes.begin();
  promiseThen(
    written,
    () => writes.end(number),
    (error: unknown) => writes.end(number, { error }),
  );
}

export function mayLeave(): boolean {
  return writes.isOpen;
}

/** Calls `go` in the order of these calls: now, or when what was written so far is on disk; `refuse` in place of it when that has failed. */
export function leave(go: () => void, refuse: (error: unknown) => void): void {
  if (writes.isOpen) go();
  else
    writes.wait(failure => {
      if (failure === undefined) go();
      else refuse(failure.error);
    });
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
