/** scheduler.wait(): a timer as a promise. @see https://wicg.github.io/scheduling-apis/#scheduler */
import { PromiseCtor, promiseReject, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface, requireArguments, toDictionary, toLong } from '../base/idl.ts';
import { addAbortAlgorithm, isAbortSignal, removeAbortAlgorithm } from './abort.ts';
import { startTimer, stopTimer } from './timers.ts';

let isConstructing = true;

export class Scheduler {
  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  /** Resolves after the delay; rejects when the signal of the options aborts first. */
  wait(delay: unknown, options: unknown = undefined): Promise<void> {
    try {
      requireArguments(arguments.length, 1, 'scheduler.wait');
      const given = toDictionary(options, 'The options of scheduler.wait')?.signal;
      if (given !== undefined && !isAbortSignal(given)) throw new TypeErrorCtor('The signal is not an AbortSignal');
      if (given?.aborted) return promiseReject(given.reason);
      const delayMs = toLong(delay);
      return new PromiseCtor((resolve, reject) => {
        const onAbort = (): void => {
          stopTimer(timer);
          reject(given?.reason);
        };
        const timer = startTimer(Math.max(delayMs, 0), () => {
          if (given !== undefined) removeAbortAlgorithm(given, onAbort);
          resolve();
        });
        if (given !== undefined) addAbortAlgorithm(given, onAbort);
      });
    } catch (error) {
      return promiseReject(error);
    }
  }
}

defineInterface(Scheduler);

export const scheduler = new Scheduler();
isConstructing = false;
