/**
 * The output gate of the stateful objects in this realm: answers and messages wait until all earlier writes of the objects are on disk, and never leave when
 * one has failed. All objects share one gate, because the realm cannot know which object's code runs: a promise may continue code of one object in a turn of
 * another. Without objects it is always open.
 */
import { Barrier } from './barrier.ts';
import { PromiseCtor, promiseThen } from './primordials.ts';

const writes = new Barrier();

/** Nothing leaves until `written` resolves. When it rejects, everything that has waited for it is refused. */
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

/** Calls `go` in the order of these calls: now, or when all earlier writes are on disk. Calls `refuse` instead when one has failed. */
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
