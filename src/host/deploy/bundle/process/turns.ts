/** The turns of bundler processes: one takes much memory and a core, so that few run at a time and few wait. */
import { EdgeError } from '../../../../quotas/errors.js';

const AT_A_TIME = 2;
const MAX_WAITING = 64;

let running = 0;
const waiting: (() => void)[] = [];

/** Resolves with the function that ends the turn. @throws EdgeError EDGE_OVERLOADED */
export async function takeBundleTurn(): Promise<() => void> {
  if (running >= AT_A_TIME) {
    if (waiting.length >= MAX_WAITING)
      throw new EdgeError('EDGE_OVERLOADED', `Cannot bundle the function: ${MAX_WAITING} others wait for the bundler`);
    await new Promise<void>(resolve => waiting.push(resolve));
  } else running++;
  return () => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };
}
