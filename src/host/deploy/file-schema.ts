/**
 * What `edgehost.toml` may say: the options of load() in snake case, checked by the same schemas, with each binding as a table of an array;
 * and the main module with the rules for modules.
 */

import type { ModuleKind } from '../../isolate/protocol/messages.js';
import { BINDING_NAME } from '../../quotas/binding-name.js';
import { limitsSchema } from '../../quotas/limit-schema.js';
import { LIMIT_NAMES } from '../../quotas/limits.js';
import type { LimitOverrides } from '../../quotas/resolve-limits.js';
import type { KeyPath } from '../../quotas/schema/complaint.js';
import { isObject } from '../../quotas/schema/describe.js';
import {
  choice,
  flag,
  type JsonSchema,
  list,
  type ObjectOf,
  object,
  type Schema,
  text,
  union,
} from '../../quotas/schema/schema.js';
import { globMatcher, type ModuleRule } from '../collect-modules.js';
import type { RouteOptions } from '../options.js';
import {
  BINDING_SHAPES,
  type BindingOptions,
  type BindingShape,
  configurationOf,
  listedFields,
  snakeCase,
} from './binding-shapes.js';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  CRON,
  NAME,
  ROUTE_MODE,
  ROUTE_PATTERN,
  VARIABLES,
} from './function-shapes.js';

const MODULE_TYPES = { ESModule: 'esm', Text: 'text', Data: 'data', Json: 'json' } as const satisfies Record<
  string,
  ModuleKind
>;

const ROUTE = union(
  [
    ROUTE_PATTERN,
    object({ pattern: ROUTE_PATTERN, 'mode?': ROUTE_MODE, 'zone_name?': text(), 'custom_domain?': flag() }),
  ],
  { description: 'a route pattern, or a table of pattern and mode' },
);

const RULE = object({
  type: choice(['ESModule', 'Text', 'Data', 'Json']),
  globs: list(text({ minLength: 1 }), { minItems: 1 }),
});

const LIMIT_OF_KEY = new Map(LIMIT_NAMES.map(name => [snakeCase(name), name]));

const FIELDS = {
  name: NAME,
  main: text({ minLength: 1 }),
  'compatibility_date?': COMPATIBILITY_DATE,
  'compatibility_flags?': COMPATIBILITY_FLAGS,
  'route?': ROUTE,
  'routes?': list(ROUTE),
  'vars?': VARIABLES,
  'limits?': limitsSchema(snakeCase),
  'triggers?': object({ 'crons?': list(CRON) }),
  'rules?': list(RULE),
};

/** A file that was checked; its bindings are tables of the list's names. */
export type FileTable = ObjectOf<typeof FIELDS>;

let schema: Schema<FileTable> | undefined;

/** Made when it is first needed, with the bindings there are then. */
export function fileSchema(): Schema<FileTable> {
  schema ??= object({ ...FIELDS, ...bindingTables() });
  return schema;
}

function bindingTables(): Readonly<Record<string, JsonSchema>> {
  const tables: Record<string, JsonSchema> = {};
  for (const shape of BINDING_SHAPES) {
    if (shape.toml === undefined) continue;
    tables[`${shape.toml.table}?`] = list(object({ binding: BINDING_NAME, ...listedFields(shape) }));
  }
  return tables;
}

export function routesOfFile({ route, routes = [] }: FileTable): RouteOptions[] {
  return (route === undefined ? routes : [route]).map(each => {
    if (typeof each === 'string') return { pattern: each };
    const { zone_name: zone, custom_domain: customDomain, ...rest } = each;
    return { ...rest, ...(zone !== undefined && { zone }), ...(customDomain !== undefined && { customDomain }) };
  });
}

/** `fail` makes the error for a name that stands twice. */
export function bindingsOfFile(
  table: FileTable,
  fail: (path: KeyPath, message: string) => Error,
): Required<BindingOptions> {
  const owners = new Map<string, string>();
  const options = BINDING_SHAPES.map(shape => {
    const configurations: Record<string, unknown> = {};
    for (const [index, listed] of listedBindings(table, shape).entries()) {
      const name = listed.binding;
      const path = [shape.toml?.table ?? '', index, 'binding'];
      if (owners.has(name)) throw fail(path, `Binding "${name}" is given twice`);
      owners.set(name, shape.toml?.table ?? '');
      configurations[name] = configurationOf(shape, listed);
    }
    return [shape.option, configurations];
  });
  for (const name of Object.keys(table.vars ?? {})) {
    const owner = owners.get(name);
    if (owner !== undefined) throw fail(['vars', name], `"${name}" is a variable and a binding of ${owner}`);
  }
  // Each was checked by the schema of its row, and the list has a row for each option.
  return Object.fromEntries(options) as Required<BindingOptions>;
}

export function limitsOfFile({ limits }: FileTable): LimitOverrides {
  const given = Object.entries(isObject(limits) ? limits : {});
  return Object.fromEntries(given.map(([key, value]) => [LIMIT_OF_KEY.get(key) ?? key, value]));
}

/** What importing a file gives, by its name, besides what is known by the name's ending. */
export function rulesOfFile({ rules = [] }: FileTable): ModuleRule[] {
  return rules.flatMap(({ type, globs }) =>
    globs.map(glob => ({ kind: MODULE_TYPES[type], matches: globMatcher(glob) })),
  );
}

function listedBindings(table: FileTable, { toml }: BindingShape): readonly { readonly binding: string }[] {
  // `fileSchema()` has it as a list of such tables.
  return toml === undefined ? [] : (Reflect.get(table, toml.table) ?? []);
}
