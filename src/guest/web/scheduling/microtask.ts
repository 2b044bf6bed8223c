/** queueMicrotask. @see https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#microtask-queuing */
import { promiseResolve, promiseThen, TypeErrorCtor } from '../../primordials.ts';
import { invoke, isCallable, requireArguments } from '../base/idl.ts';
import { reportException } from '../events/error-reporting.ts';

const resolved = promiseResolve(undefined);

export function queueMicrotask(callback: unknown): void {
  requireArguments(arguments.length, 1, 'queueMicrotask');
  if (!isCallable(callback)) throw new TypeErrorCtor('The callback of queueMicrotask is not a function');
  promiseThen(resolved, () => {
    try {
      invoke(callback, undefined, []);
    } catch (error) {
      reportException(error);
    }
  });
}
