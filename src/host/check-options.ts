/** Checks of option objects: an unknown name or a wrong type is a TypeError that names the option, what was given and what is expected. */

export type OptionKind =
  | 'string'
  | 'boolean'
  | 'number'
  | 'function'
  | 'object'
  | 'string or object'
  | 'array of strings'
  | 'string or array of strings'
  | 'object of strings'
  | readonly string[];

export type OptionSchema = Readonly<Record<string, OptionKind>>;

/** `where` names the call: `new EdgeHost()`, `load()`. */
export function checkOptions(where: string, options: unknown, schema: OptionSchema): void {
  if (options === undefined) return;
  if (!isPlainObject(options))
    throw new TypeError(`The options of ${where} are ${describe(options)}, expected an object`);
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (kind === undefined) {
      throw new TypeError(`${where} has no option "${name}"; its options are ${Object.keys(schema).join(', ')}`);
    }
    if (value !== undefined && !isOfKind(value, kind)) {
      throw new TypeError(`Option ${name} of ${where} is ${describe(value)}, expected ${expected(kind)}`);
    }
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How an error message shows what was given: short, with its type. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return `the string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return `the ${typeof value} ${value}`;
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'function' ? 'a function' : 'an object';
}

function isOfKind(value: unknown, kind: OptionKind): boolean {
  if (typeof kind !== 'string') return typeof value === 'string' && kind.includes(value);
  switch (kind) {
    case 'string or object':
      return typeof value === 'string' || isPlainObject(value);
    case 'string or array of strings':
      return typeof value === 'string' || isOfKind(value, 'array of strings');
    case 'array of strings':
      return Array.isArray(value) && value.every(item => typeof item === 'string');
    case 'object of strings':
      return isPlainObject(value) && Object.values(value).every(item => typeof item === 'string');
    case 'object':
      return typeof value === 'object' && value !== null;
    case 'number':
      return typeof value === 'number' && !Number.isNaN(value);
    default:
      return typeof value === kind;
  }
}

function expected(kind: OptionKind): string {
  if (typeof kind !== 'string') return `one of ${kind.map(word => `'${word}'`).join(', ')}`;
  return kind === 'array of strings' || kind === 'object of strings' || kind === 'object' ? `an ${kind}` : `a ${kind}`;
}
