/** node:timers. @see https://nodejs.org/api/timers.html */
import { stopTimer } from '../../web/scheduling/timers.ts';
import promises from './promises.ts';
import { Immediate, Timeout } from './timeout.ts';

const promisify = Symbol.for('nodejs.util.promisify.custom');

function setTimeout(callback: unknown, delay?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(callback, delay, args, false);
}

function setInterval(callback: unknown, delay?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(callback, delay, args, true);
}

function setImmediate(callback: unknown, ...args: unknown[]): Immediate {
  return new Immediate(callback, args);
}

/** Takes a timer, or the number that stands for one. */
function clearTimeout(timer?: unknown): void {
  if (timer instanceof Timeout) timer.close();
  else if (typeof timer === 'number' || typeof timer === 'string') stopTimer(Number(timer));
}

function clearInterval(timer?: unknown): void {
  clearTimeout(timer);
}

function clearImmediate(immediate?: unknown): void {
  if (immediate instanceof Immediate) immediate.stop();
}

Object.defineProperty(setTimeout, promisify, { get: () => promises.setTimeout, enumerable: true });
Object.defineProperty(setImmediate, promisify, { get: () => promises.setImmediate, enumerable: true });

export default { setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval, clearInterval, promises };
