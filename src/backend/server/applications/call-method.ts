/** Calls a method that a contract names. @throws TypeError when the object has no such method */
export function callMethod(target: object, method: string, args: readonly unknown[]): unknown {
  const run: unknown = Reflect.get(target, method);
  if (typeof run !== 'function') throw new TypeError(`There is no method ${method}`);
  return Reflect.apply(run, target, args);
}
