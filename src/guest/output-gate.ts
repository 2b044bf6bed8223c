/**
 * The output gate: nothing leaves a stateful object before its earlier writes are on disk, and nothing leaves when one of them has failed. The code of
 * an object need not await its writes, and a caller that has an answer can rely on them. Three places keep that promise:
 *
 *     src/guest/output-gate.ts                requests, calls and messages to others wait for the writes of all objects of the realm. The realm cannot know
 *                                             which object's code runs: a promise may continue code of one object in a turn of another.
 *     src/guest/objects/gates.ts              answers wait for the writes of their object: until they are on disk, or sent to a host that holds answers.
 *     src/host/invocation/object-writes.ts    such a host holds a whole answer until the writes that came before it are on disk.
 *
 * The host holds answers with `backend: 'inline'`, where writes and answers come over one connection, in their order. The isolate then sends an answer right
 * behind the writes, in the same turn. Without that, it first waits for the result of the write, and is woken to answer: one object that is called again and
 * again takes 20 to 35 % more CPU time then (64 objects at once take no more).
 *
 * With `backend: 'process'` writes go to the backend process and answers to the application, which cannot know their order, so the isolate waits. The
 * application could hold answers too, if it got one more message for each write. Even then the guest's gates would be needed: calls and the first bytes of a
 * stream must not leave early. A gate in the guest is safe, for it protects the function's own data: a compromised isolate harms its own function alone.
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
