/** The services of the hosted platform that a file names and that do not exist here, and the keys that are about deployment there. */
import { isBindingName } from '../../../quotas/binding-name.js';
import { isObject } from '../../../quotas/schema/describe.js';
import type { Table } from './environment.js';
import { wranglerKey } from './keys.js';

export interface Unavailable {
  /** The names in `env`, each with the message of the error that its use throws. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/** Keys that build tools write for themselves, and the name of the schema. */
const SILENT: ReadonlySet<string> = new Set([
  '$schema',
  'topLevelName',
  'targetEnvironment',
  'definedEnvironments',
  'configPath',
  'userConfigPath',
  'legacy_env',
]);

export function unavailableIn(table: Table): Unavailable {
  const bindings: Record<string, string> = Object.create(null);
  const notes: string[] = [];
  for (const [key, value] of Object.entries(table)) {
    const known = wranglerKey(key);
    if (known?.treatment !== 'unavailable' || isEmpty(value)) continue;
    const advice = plainText(known.text);
    const names = namesIn(value);
    for (const name of names) bindings[name] = unavailableText(name, key, advice);
    const where = names.length === 0 ? '' : ` (${names.map(name => `env.${name}`).join(', ')})`;
    notes.push(`"${key}"${where} is not available here: ${advice}`);
  }
  return { bindings, notes };
}

export function unavailableText(name: string, key: string, advice: string): string {
  return `env.${name} is not available here: "${key}" of the configuration names a service of the hosted platform; ${advice}`;
}

/** The keys that are there and mean nothing here. */
export function ignoredIn(table: Table): readonly string[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const isIgnored = wranglerKey(key)?.treatment === 'ignored' && !SILENT.has(key) && !isEmpty(value);
    return isIgnored ? [key] : [];
  });
}

/** Build tools write every key that there is, most of them without a value. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.every(isEmpty);
  return isObject(value) && Object.values(value).every(isEmpty);
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (!isObject(value)) return [];
  if (Array.isArray(value.bindings)) return namesIn(value.bindings);
  const name = value.binding ?? value.name;
  return typeof name === 'string' && isBindingName(name) ? [name] : [];
}

/** Without the marks of the documentation. */
export function plainText(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
