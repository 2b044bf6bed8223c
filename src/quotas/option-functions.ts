/**
 * Functions that the application gives as options. The host calls them in the middle of its own work. So an exception, or an answer of a wrong type, becomes an
 * error that names the option before anything else uses it.
 */
import { EdgeError, messageOf } from './errors.js';
import { rethrowOutside } from './guarded.js';
import { describe, isObject } from './schema/describe.js';

/** The largest number of milliseconds that a Date can have. */
const MAX_DATE_MS = 8_640_000_000_000_000;

/** `option` names the option and the call that got it: `now of s3()`. The cause is what it has thrown. */
export function hasThrown(option: string, cause: unknown): EdgeError {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : describe(cause);
  return new EdgeError('EDGE_OPTION_FAILED', `Option ${option} has thrown: ${text}`, { cause });
}

/** The answer is not one that is expected of the option. */
export function hasAnswered(option: string, answer: unknown, expected: string): EdgeError {
  const isPromise = isObject(answer) && typeof answer.then === 'function';
  // Nobody will wait for it, and its rejection would end the application.
  if (answer instanceof Promise) answer.catch(() => {});
  const what = isPromise
    ? 'a promise'
    : answer instanceof Date && Number.isNaN(answer.getTime())
      ? 'an invalid Date'
      : describe(answer);
  return new EdgeError('EDGE_OPTION_FAILED', `Option ${option} answers ${what}, expected ${expected}`);
}

/**
 * A clock whose every answer is checked: a comparison with an invalid Date is false, so that nothing would ever expire. It is asked once at the beginning,
 * because one that answers milliseconds would fail with the first request.
 *
 * @returns a clock that throws EdgeError EDGE_OPTION_FAILED
 * @throws TypeError when it fails now
 */
export function dateClock(option: string, now: () => Date): () => Date {
  const clock = (): Date => {
    const given: unknown = answerOf(option, now);
    if (given instanceof Date && !Number.isNaN(given.getTime())) return given;
    throw hasAnswered(option, given, 'a function that answers a Date');
  };
  asMistake(clock);
  return clock;
}

/**
 * A clock of milliseconds that never fails, since accounting asks for the time where nothing can be refused any more: while `now` fails, the time stands
 * still at its last answer.
 *
 * @param report gets an error each time that the clock begins to fail
 * @throws TypeError when it fails at the beginning
 */
export function steadyClock(option: string, now: () => number, report: (error: EdgeError) => void): () => number {
  let lastMs = asMistake(() => checkedMs(option, now));
  let isFailing = false;
  return () => {
    try {
      lastMs = checkedMs(option, now);
      isFailing = false;
    } catch (error) {
      if (!isFailing) {
        isFailing = true;
        report(error instanceof EdgeError ? error : hasThrown(option, error));
      }
    }
    return lastMs;
  };
}

/** @throws EdgeError EDGE_OPTION_FAILED */
function checkedMs(option: string, now: () => number): number {
  const given: unknown = answerOf(option, now);
  if (typeof given === 'number' && Math.abs(given) <= MAX_DATE_MS) return given;
  throw hasAnswered(option, given, 'a function that answers milliseconds since 1970, as Date.now() does');
}

/** Waits for the answer of a function. @throws EdgeError EDGE_OPTION_FAILED for an exception, a rejection, and an answer that `isExpected` refuses */
export async function askOption<Answer>(
  option: string,
  ask: () => Answer | Promise<Answer>,
  expected: string,
  isExpected: (answer: unknown) => boolean,
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await ask();
  } catch (error) {
    throw hasThrown(option, error);
  }
  if (!isExpected(answer)) throw hasAnswered(option, answer, expected);
  return answer;
}

/** Calls a function that is only told something: what it throws is thrown outside of the host, as for listeners of events. */
export function tellOption<Args extends readonly unknown[]>(tell: (...args: Args) => unknown, ...args: Args): void {
  try {
    tell(...args);
  } catch (error) {
    rethrowOutside(error);
  }
}

/** A failure while options are checked is a mistake of the application's code. @throws TypeError */
function asMistake<Answer>(ask: () => Answer): Answer {
  try {
    return ask();
  } catch (error) {
    throw new TypeError(messageOf(error), { cause: error });
  }
}

function answerOf(option: string, ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    throw hasThrown(option, error);
  }
}
