/** The type of a JSON value, as TypeScript. */
import { isObject } from '../../quotas/schema/describe.js';

/** Deeper parts are unknown. */
const MAX_DEPTH = 10;

export function jsonType(value: unknown, depth = 0): string {
  if (value === null) return 'null';
  if (depth > MAX_DEPTH) return 'unknown';
  if (Array.isArray(value)) {
    const types = [...new Set(value.map(item => jsonType(item, depth + 1)))];
    return types.length === 0 ? 'unknown[]' : types.length === 1 ? `${types[0]}[]` : `(${types.join(' | ')})[]`;
  }
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, each]) => `${nameOf(name)}: ${jsonType(each, depth + 1)}`);
    return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`;
  }
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'unknown';
}

function nameOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
