/**
 * The guest module that attack programs report through. It captures what it works with before the attack patches anything, and
 * climbs from everything the attack kept: an object of the host realm shows by where its prototype chain ends, or by compiling code.
 */
export const PROBE = String.raw`
const { apply, getPrototypeOf, getOwnPropertyDescriptor, ownKeys } = Reflect;
const ObjectPrototype = Object.prototype;
const FunctionPrototype = Function.prototype;
const NativePromise = Promise;
const { set: mapSet, get: mapGet, has: mapHas } = Map.prototype;
const NativeMap = Map;
const NativeResponse = Response;
const stringify = JSON.stringify;
const NativeString = String;
const kept = [];
const MAX_KEPT = 5000;
let count = 0;
let failures = '';

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

/** How the host realm shows in a value, or undefined. */
export function inspected(value) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  let object = value;
  let isFunction = typeof value !== 'function';
  for (let hops = 0; hops < 200; hops++) {
    if (object === FunctionPrototype) isFunction = true;
    const next = getPrototypeOf(object);
    if (next === null) {
      if (object === ObjectPrototype) return isFunction ? undefined : 'a function without Function.prototype';
      return hops === 0 && isFunction ? undefined : 'a chain that ends elsewhere';
    }
    object = next;
  }
  return 'a chain without end';
}

function climb(value) {
  let answer;
  try { answer = value.constructor.constructor('return typeof process + typeof require')(); } catch (error) { return inspected(error); }
  return typeof answer === 'string' && answer !== 'undefinedundefined' ? 'ESCAPED: ' + answer : undefined;
}

/** Walks everything that was kept, and the global object; answers with the ways to what should not be there. */
export async function report() {
  const seen = new NativeMap();
  const queue = [];
  const leaks = [];
  let tail = 0;
  let leakCount = 0;
  const add = (value, path) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
    if (apply(mapHas, seen, [value])) return;
    apply(mapSet, seen, [value, path]);
    queue[tail++] = value;
  };
  const leak = text => { leaks[leakCount++] = text; };
  for (let i = 0; i < count; i++) {
    add(kept[i], 'kept ' + i);
    const found = typeof kept[i] === 'object' || typeof kept[i] === 'function' ? climb(kept[i]) : undefined;
    if (found !== undefined) leak('kept ' + i + ' climbs to ' + found);
  }
  add(globalThis, 'globalThis');
  for (let head = 0; head < tail && head < 20000; head++) {
    const object = queue[head];
    const path = apply(mapGet, seen, [object]);
    let found, prototype, keys;
    try {
      found = inspected(object);
      prototype = getPrototypeOf(object);
      keys = ownKeys(object);
    } catch (error) { add(error, 'error of ' + path); continue; }
    if (found !== undefined) leak(path + ': ' + found);
    if (path.length > 300) continue;
    add(prototype, path + '.__proto__');
    const keyCount = keys.length < 3000 ? keys.length : 3000;
    for (let i = 0; i < keyCount; i++) {
      let descriptor;
      try { descriptor = getOwnPropertyDescriptor(object, keys[i]); } catch (error) { add(error, 'error of ' + path); }
      if (descriptor === undefined) continue;
      const name = path + '.' + NativeString(keys[i]);
      add(descriptor.value, name);
      add(descriptor.get, 'get ' + name);
      add(descriptor.set, 'set ' + name);
    }
  }
  let text = failures;
  for (let i = 0; i < leakCount && i < 20; i++) text += leaks[i] + '\n';
  return new NativeResponse(text === '' ? 'contained' : text);
}
`;
