/** "Type(value) is Object". Without imports, since errors.ts is evaluated before everything that captures what it replaces. */
export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
