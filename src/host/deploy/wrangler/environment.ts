/** The keys that one environment of the hosted platform's file has: its own, and those that it has from the top level. */
import type { KeyPath } from '../../../quotas/schema/complaint.js';
import { isObject } from '../../../quotas/schema/describe.js';
import type { ConfigReader } from '../reading/config-reader.js';
import { WRANGLER_KEYS, type WranglerScope } from './keys.js';

export type Table = Readonly<Record<string, unknown>>;

export interface EnvironmentTable {
  readonly table: Table;
  /** Where the file has the key: errors name that line. */
  readonly pathOf: (key: string) => KeyPath;
  /** Keys that the top level has and the environment lacks, which does not inherit them. */
  readonly notInherited: readonly string[];
}

/** @throws EdgeError EDGE_CONFIG_INVALID when the file has no such environment */
export function environmentOf(reader: ConfigReader, environment: string | undefined): EnvironmentTable {
  const top: Table = isObject(reader.root) ? reader.root : {};
  if (environment === undefined || environment === '') {
    return { table: top, pathOf: key => [key], notInherited: [] };
  }
  const environments = isObject(top.env) ? top.env : {};
  const own = Object.hasOwn(environments, environment) ? environments[environment] : undefined;
  if (!isObject(own)) throw reader.error(['env'], `The environment is "${environment}", ${knownOf(environments)}`);
  const table: Record<string, unknown> = Object.create(null);
  const prefix: KeyPath = ['env', environment];
  const hasRoute = own.route !== undefined || own.routes !== undefined;
  const notInherited: string[] = [];
  for (const [key, value] of Object.entries(top)) {
    const scope = scopeOf(key);
    if (Object.hasOwn(own, key)) continue;
    if (scope === 'own') notInherited.push(key);
    else if (!(hasRoute && (key === 'route' || key === 'routes'))) table[key] = value;
  }
  for (const [key, value] of Object.entries(own)) {
    if (scopeOf(key) === 'top') {
      throw reader.error(
        [...prefix, key],
        `env.${environment} has the key "${key}", which only the top level may have`,
      );
    }
    table[key] = value;
  }
  if (typeof own.name !== 'string' && typeof top.name === 'string') table.name = `${top.name}-${environment}`;
  return { table, pathOf: key => (Object.hasOwn(own, key) ? [...prefix, key] : [key]), notInherited };
}

/** An unknown key is reported where it is, and changes nothing. */
function scopeOf(key: string): WranglerScope {
  const known: Readonly<Record<string, { readonly scope: WranglerScope } | undefined>> = WRANGLER_KEYS;
  return (Object.hasOwn(known, key) ? known[key]?.scope : undefined) ?? 'inherited';
}

function knownOf(environments: Table): string {
  const names = Object.keys(environments);
  return names.length === 0 ? 'and the file has no environments' : `expected one of ${names.join(', ')}`;
}
