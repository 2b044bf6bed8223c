/**
 * Rejections that say where in the function's code they were waited for. The engine writes the functions that await a promise into the stack
 * of an error, if the error is made in a microtask from which a chain of promises leads to them. So the error of a call that failed is made
 * in such a microtask: a call that does not fail pays nothing.
 */

/**
 * A promise for a waiting one to be resolved with, in place of its own rejection. It rejects with the error, two microtasks later: the
 * waiting promise subscribes to this one in the first of them.
 */
export async function rejection(makeError: () => unknown): Promise<never> {
  await undefined;
  await undefined;
  throw makeError();
}
