/**
 * The schema of `edgehost.toml`: the options of load() in snake case, checked by the same schemas, with each binding as a table of an
 * array; and the main module with the rules for modules.
 */

import { WRITTEN_ASSETS } from '../../config-schema/asset-shapes.js';
import { type BindingShape, bindingTable, bindingTables, configOfTable } from '../../config-schema/binding-shapes.js';
import {
  consumerOf,
  type QueueConsumerOptions,
  WRITTEN_CONSUMERS,
  type WrittenConsumer,
} from '../../config-schema/consumer-shapes.js';
import { CRON_JITTER_MS, CRON_MISSED, CRON_OVERLAP, type CronOptions } from '../../config-schema/cron-trigger.js';
import { EGRESS_HOSTS } from '../../config-schema/egress-shapes.js';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  CRON,
  NAME,
  ROUTE_MODE,
  ROUTE_PATTERN,
  TAIL_CONSUMERS,
  VARIABLES,
} from '../../config-schema/function-shapes.js';
import type { ModuleKind } from '../../protocol/messages.js';
import { limitsSchema, snakeCase } from '../../quotas/limit-schema.js';
import { LIMIT_NAMES } from '../../quotas/limits.js';
import type { LimitOverrides } from '../../quotas/resolve-limits.js';
import type { KeyPath } from '../../quotas/schema/complaint.js';
import { isObject } from '../../quotas/schema/describe.js';
import { choice, flag, list, type ObjectOf, object, type Schema, text, union } from '../../quotas/schema/schema.js';
import type { RouteOptions } from '../options/options.js';
import type { ModuleRule } from './collect-modules.js';
import { globMatcher } from './glob.js';

const MODULE_TYPES = { ESModule: 'esm', Text: 'text', Data: 'data', Json: 'json' } as const satisfies Record<
  string,
  ModuleKind
>;

export const FILE_ROUTE = union(
  [
    ROUTE_PATTERN,
    object({ pattern: ROUTE_PATTERN, 'mode?': ROUTE_MODE, 'zone_name?': text(), 'custom_domain?': flag() }),
  ],
  { description: 'a route pattern, or a table of pattern and mode' },
);

const FILE_CRON = union(
  [CRON, object({ cron: CRON, 'missed?': CRON_MISSED, 'overlap?': CRON_OVERLAP, 'jitter_ms?': CRON_JITTER_MS })],
  { description: 'a cron expression, or a table of cron, missed, overlap and jitter_ms' },
);

const RULE = object({
  type: choice(['ESModule', 'Text', 'Data', 'Json']),
  globs: list(text({ minLength: 1, maxLength: 256 }), { minItems: 1 }),
});

const LIMIT_OF_KEY = new Map(LIMIT_NAMES.map(name => [snakeCase(name), name]));

const FIELDS = {
  name: NAME,
  'main?': text({ minLength: 1 }),
  'compatibility_date?': COMPATIBILITY_DATE,
  'compatibility_flags?': COMPATIBILITY_FLAGS,
  'route?': FILE_ROUTE,
  'routes?': list(FILE_ROUTE),
  'vars?': VARIABLES,
  'limits?': limitsSchema(snakeCase),
  'triggers?': object({ 'crons?': list(FILE_CRON) }),
  'tail_consumers?': TAIL_CONSUMERS,
  'rules?': list(RULE),
  'callers?': list(NAME),
  'assets?': WRITTEN_ASSETS,
  // Without secrets: a file is no place for their values.
  'egress?': object({ hosts: EGRESS_HOSTS }),
  'queues?': object({ 'consumers?': WRITTEN_CONSUMERS }),
};

const QUEUE_PRODUCERS = 'queues.producers';

/** A file that was checked; its bindings are tables of the list's names. */
export type FileTable = ObjectOf<typeof FIELDS>;

/** By the bindings that there are. */
const schemas = new WeakMap<readonly BindingShape[], Schema<FileTable>>();

export function fileSchema(rows: readonly BindingShape[]): Schema<FileTable> {
  const known = schemas.get(rows) ?? object({ ...FIELDS, ...bindingTables(rows), 'queues?': queueTables(rows) });
  schemas.set(rows, known);
  return known;
}

/** The two arrays of tables `queues.producers` and `queues.consumers`. */
function queueTables(rows: readonly BindingShape[]): Schema<{ readonly consumers?: readonly WrittenConsumer[] }> {
  const row = rows.find(({ toml }) => toml?.table === QUEUE_PRODUCERS);
  const producers = row?.toml === undefined ? {} : { 'producers?': bindingTable(row.toml, row.schema) };
  return object({ ...producers, 'consumers?': WRITTEN_CONSUMERS });
}

export function consumersOfFile({ queues }: Pick<FileTable, 'queues'>): QueueConsumerOptions[] {
  return (queues?.consumers ?? []).map(consumerOf);
}

export function routesOfFile({ route, routes = [] }: Pick<FileTable, 'route' | 'routes'>): RouteOptions[] {
  return (route === undefined ? routes : [route]).map(each => {
    if (typeof each === 'string') return { pattern: each };
    const { zone_name: zone, custom_domain: customDomain, ...rest } = each;
    return { ...rest, ...(zone !== undefined && { zone }), ...(customDomain !== undefined && { customDomain }) };
  });
}

export function cronsOfFile({ triggers }: Pick<FileTable, 'triggers'>): (string | CronOptions)[] {
  return (triggers?.crons ?? []).map(each => {
    if (typeof each === 'string') return each;
    const { jitter_ms: jitterMs, ...rest } = each;
    return { ...rest, ...(jitterMs !== undefined && { jitterMs }) };
  });
}

/** The options of load() that bind names. `fail` makes the error for a name that is given twice. */
export function bindingsOfFile(
  table: FileTable,
  rows: readonly BindingShape[],
  fail: (path: KeyPath, message: string) => Error,
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const tables = new Map<string, string>();
  const options: Record<string, Record<string, unknown>> = {};
  for (const { option, toml } of rows) {
    if (toml === undefined) continue;
    const tablesOfRow = listedIn(table, toml.table);
    if (tablesOfRow === undefined) continue;
    const configurations: Record<string, unknown> = {};
    for (const [index, listed] of tablesOfRow.entries()) {
      const name = String(listed.binding);
      if (tables.has(name))
        throw fail([...toml.table.split('.'), index, 'binding'], `Binding "${name}" is given twice`);
      tables.set(name, toml.table);
      configurations[name] = configOfTable(toml, listed);
    }
    options[option] = configurations;
  }
  for (const name of Object.keys(table.vars ?? {})) {
    const other = tables.get(name);
    if (other !== undefined) throw fail(['vars', name], `"${name}" is a variable and a binding of ${other}`);
  }
  return options;
}

export function limitsOfFile({ limits }: Pick<FileTable, 'limits'>): LimitOverrides {
  const given = Object.entries(isObject(limits) ? limits : {});
  return Object.fromEntries(given.map(([key, value]) => [LIMIT_OF_KEY.get(key) ?? key, value]));
}

/** The kinds of modules by file name, besides those that are known by the ending. */
export function rulesOfFile({ rules = [] }: FileTable): ModuleRule[] {
  return rules.flatMap(({ type, globs }) =>
    globs.map(glob => ({ kind: MODULE_TYPES[type], glob, matches: globMatcher(glob) })),
  );
}

/** The schema has it as an array of tables. undefined: the file does not name it. */
function listedIn(table: FileTable, key: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  let listed: unknown = table;
  for (const part of key.split('.')) listed = isObject(listed) ? listed[part] : undefined;
  return Array.isArray(listed) ? listed : undefined;
}
