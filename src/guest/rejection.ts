/**
 * Makes rejections that show where in the function's code they were awaited. The engine writes the functions that await a promise into the stack of an error.
 * It does so only in a microtask from which a chain of promises leads to them. So the error of a call that failed is made in such a microtask: a call that does
 * not fail pays nothing.
 */
import { addSite, type CallSite } from './errors.ts';
import { ErrorCtor } from './primordials.ts';

/**
 * A promise for a waiting one to be resolved with, in place of its own rejection. It rejects with the error, two microtasks later: the
 * waiting promise subscribes to this one in the first of them.
 *
 * @param site of the call, if that is known and the error is of this bundle
 */
export async function rejection(makeError: () => unknown, site?: CallSite): Promise<never> {
  await undefined;
  await undefined;
  throw withSite(makeError(), site);
}

function withSite(error: unknown, site: CallSite | undefined): unknown {
  if (error instanceof ErrorCtor) addSite(error, site);
  return error;
}
