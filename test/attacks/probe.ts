/**
 * The guest module that attack programs report through. It captures what it works with before the attack patches anything, and
 * climbs from everything the attack kept: an object of the host realm shows by where its prototype chain ends, or by compiling code.
 */
import { WALK } from './walk.js';

export const PROBE = String.raw`
${WALK}
const NativeResponse = Response;
const kept = { __proto__: null };
const MAX_KEPT = 5000;
const MAX_OBJECTS = 20000;
let count = 0;
let failures = '';

export { inspected, walk };

/** To be searched by report(). */
export function keep(value) {
  if (count < MAX_KEPT) kept[count++] = value;
  return value;
}

/** Forgets what was kept. */
export function reset() {
  count = 0;
  failures = '';
}

/** Says that something happened that must not. */
export function fail(text) {
  failures += text + ': must not happen\n';
}

/** Keeps what the code answers or throws; answers it. */
export function attempt(code) {
  try { return keep(code()); } catch (error) { return keep(error); }
}

const nativeSetTimeout = setTimeout;
const PATIENCE_MS = 200;

/** Keeps a promise and what becomes of it soon; a promise that stays pending is given up. */
export function settle(code) {
  return new NativePromise(resolve => {
    nativeSetTimeout(() => resolve(undefined), PATIENCE_MS);
    watch(code, resolve);
  });
}

async function watch(code, resolve) {
  try {
    resolve(keep(await keep(code())));
  } catch (error) { resolve(keep(error)); }
}

/** Runs the code at every depth near the end of the stack, and keeps what it throws there. */
export function atTheEdge(code, most = 60) {
  let left = most;
  const dive = () => {
    try { dive(); } catch (error) { keep(error); }
    if (left-- > 0) { try { keep(code()); } catch (error) { keep(error); } }
  };
  try { dive(); } catch (error) { keep(error); }
}

function climb(value) {
  let answer;
  try { answer = value.constructor.constructor('return typeof process + typeof require')(); } catch (error) { return inspected(error); }
  return typeof answer === 'string' && answer !== 'undefinedundefined' ? 'ESCAPED: ' + answer : undefined;
}

/** Walks everything that was kept, and the global object; answers with the ways to what should not be there. */
export async function report(callsGetters = false) {
  let text = failures;
  for (let i = 0; i < count; i++) {
    const found = typeof kept[i] === 'object' || typeof kept[i] === 'function' ? climb(kept[i]) : undefined;
    if (found !== undefined) text += 'root ' + i + ' climbs to ' + found + '\n';
  }
  const { leaks, leakCount } = walk(kept, count, callsGetters, MAX_OBJECTS);
  for (let i = 0; i < leakCount && i < 20; i++) text += leaks[i] + '\n';
  return new NativeResponse(text === '' ? 'contained' : text);
}
`;
