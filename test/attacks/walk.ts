/**
 * The search for objects of the host realm (rule R19), as guest code: from what it is given and from the global object along every road of
 * the language, to see whether each prototype chain ends in the guest's own Object.prototype. One search for attack programs, for the
 * fuzzer and for the leak scan. What it works with is captured, and its lists inherit nothing: the function that it searches may have
 * patched everything.
 */
export const WALK = `
const { apply, getPrototypeOf, getOwnPropertyDescriptor, ownKeys } = Reflect;
const ObjectPrototype = Object.prototype;
const FunctionPrototype = Function.prototype;
const NativeMap = Map, NativeSet = Set, NativePromise = Promise, NativeString = String;
const { set: mapSet, get: mapGet, has: mapHas, forEach: mapForEach } = Map.prototype;
const { forEach: setForEach } = Set.prototype;
const { then: promiseThen } = Promise.prototype;
const quiet = () => {};

const { isFrozen } = Object;

/**
 * Whether it is an error, or an accessor of one, of the realm that writes stacks (rule R4): behind it is nothing but one frozen object without
 * a prototype, in which there are texts and numbers alone. No object of the host realm is like that.
 */
function isNeutral(value) {
  const prototype = getPrototypeOf(value);
  if (prototype !== null && getPrototypeOf(prototype) !== null) return false;
  const base = prototype === null ? value : prototype;
  if (!isFrozen(base)) return false;
  const keys = ownKeys(base);
  for (let i = 0; i < keys.length; i++) {
    const type = typeof getOwnPropertyDescriptor(base, keys[i]).value;
    if (type !== 'string' && type !== 'number') return false;
  }
  return true;
}

/** How the host realm shows in a value, or undefined. */
function inspected(value) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  let object = value;
  let isFunction = typeof value !== 'function';
  for (let hops = 0; hops < 200; hops++) {
    if (object === FunctionPrototype) isFunction = true;
    const next = getPrototypeOf(object);
    if (next === null) {
      if (object === ObjectPrototype) return isFunction ? undefined : 'a function without Function.prototype';
      return (hops === 0 && isFunction) || isNeutral(value) ? undefined : 'a chain that ends elsewhere';
    }
    object = next;
  }
  return 'a chain without end';
}

/**
 * Answers { objects, paths, count, leaks, leakCount }, lists without a prototype. With callsGetters every getter is called on the object
 * that it was found on, and the search goes on in what it answers or throws.
 */
function walk(roots, rootCount, callsGetters, maxObjects) {
  const seen = new NativeMap();
  const found = { __proto__: null, objects: { __proto__: null }, paths: { __proto__: null }, count: 0, leaks: { __proto__: null }, leakCount: 0 };
  const add = (value, path) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || found.count >= maxObjects) return;
    if (apply(mapHas, seen, [value])) return;
    // An unhandled rejection would end a test.
    if (callsGetters) try { apply(promiseThen, value, [quiet, quiet]); } catch {}
    apply(mapSet, seen, [value, path]);
    found.objects[found.count] = value;
    found.paths[found.count++] = path;
  };
  for (let i = 0; i < rootCount; i++) add(roots[i], 'root ' + i);
  add(globalThis, 'globalThis');
  for (let head = 0; head < found.count; head++) {
    const object = found.objects[head];
    const path = found.paths[head];
    let what, prototype, keys;
    try {
      what = inspected(object);
      prototype = getPrototypeOf(object);
      keys = ownKeys(object);
    } catch (error) { add(error, 'error of ' + path); continue; }
    if (what !== undefined) found.leaks[found.leakCount++] = path + ': ' + what;
    if (path.length > 300) continue;
    add(prototype, path + '.__proto__');
    const keyCount = keys.length < 3000 ? keys.length : 3000;
    for (let i = 0; i < keyCount; i++) {
      const name = path + '.' + NativeString(keys[i]);
      let descriptor;
      try { descriptor = getOwnPropertyDescriptor(object, keys[i]); } catch (error) { add(error, 'error of ' + name); }
      if (descriptor === undefined) continue;
      add(descriptor.value, name);
      add(descriptor.get, 'get ' + name);
      add(descriptor.set, 'set ' + name);
      if (!callsGetters || descriptor.get === undefined) continue;
      try { add(apply(descriptor.get, object, []), name + '()'); } catch (error) { add(error, 'error of ' + name + '()'); }
    }
    try { apply(mapForEach, object, [(value, key) => { add(key, path + ' key'); add(value, path + ' value'); }]); } catch {}
    try { apply(setForEach, object, [value => add(value, path + ' item')]); } catch {}
  }
  return found;
}
`;
