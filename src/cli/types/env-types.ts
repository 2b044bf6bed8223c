/** The interface `Env` of a function, from its options. */
import type { FunctionFile } from '../../host/deploy/function-file.js';
import { isObject } from '../../quotas/schema/describe.js';
import { jsonType } from './json-type.js';

export interface EnvTypesOptions {
  /** The configuration file, as the first line names it. */
  readonly from: string;
  /** The main module, as an import names it; undefined when the configuration names none. */
  readonly module: string | undefined;
}

/** The bindings whose type does not depend on their configuration, by the option of load(). */
const TYPES: Readonly<Record<string, string>> = {
  buckets: 'StoreBucket',
  kv: 'KvNamespace',
  queues: 'StoreQueue',
  services: 'Service',
  sql: 'SqlDatabase',
};
/** Options with names that are no bindings of the function. */
const NO_BINDINGS: ReadonlySet<string> = new Set([
  'vars',
  'secrets',
  'limits',
  'props',
  'egress',
  'bindings',
  'assets',
]);

export function envTypes({ options, requiredSecrets }: FunctionFile, { from, module }: EnvTypesOptions): string {
  const types = new Map<string, string>();
  for (const [name, value] of Object.entries(options.vars ?? {})) types.set(name, jsonType(value));
  for (const name of [...Object.keys(options.secrets ?? {}), ...requiredSecrets]) types.set(name, 'string');
  for (const [option, bindings] of Object.entries(options)) {
    if (NO_BINDINGS.has(option) || !isObject(bindings) || Array.isArray(bindings)) continue;
    for (const [name, config] of Object.entries(bindings))
      types.set(name, option === 'objects' ? objectType(config, module) : (TYPES[option] ?? 'unknown'));
  }
  const assets: unknown = Reflect.get(options, 'assets');
  if (isObject(assets) && typeof assets.binding === 'string') types.set(assets.binding, 'Service');
  const members = [...types].map(([name, type]) => `  ${name}: ${type};\n`);
  return `// Written by \`edgehost types\` from ${from}. Run it again after a change of that file.
/// <reference types="edgehost/worker" />

interface Env {
${members.join('')}}

/** The type of \`env\` of edgehost:workers and cloudflare:workers. */
interface FunctionEnv extends Env {}
`;
}

/** A class of another function is not known here. */
function objectType(config: unknown, module: string | undefined): string {
  const isForeign = isObject(config) && config.function !== undefined;
  const name = isObject(config) ? config.class : config;
  return !isForeign && module !== undefined && typeof name === 'string'
    ? `StatefulNamespace<import(${JSON.stringify(module)}).${name}>`
    : 'StatefulNamespace';
}
