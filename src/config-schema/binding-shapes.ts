/** The bindings that a function may have, as its configuration names them: the part of the registry that options, files and the management API read. */

import type { BindingTable } from '../bindings/binding.js';
import { BINDING_NAME } from '../quotas/binding-name.js';
import { isObject } from '../quotas/schema/describe.js';
import { constant, type JsonSchema, list, object, record, text } from '../quotas/schema/schema.js';

export interface BindingShape {
  /** The option of `load()`: an object of configurations by the name of the binding. */
  readonly option: string;
  /** The option is one configuration, whose member `binding` is the name; without a name there is no binding. @default false */
  readonly isSingle?: true;
  /**
   * The table of `edgehost.toml` that is written once for each binding, and the key of the configuration in it and in the management API. Absent
   * where only the application's code can give a configuration.
   */
  readonly toml?: BindingTable;
  /** The type of the binding in the management API. */
  readonly managementType?: string;
  /** The key in the configuration of the management API. @default the key in `toml` */
  readonly managementKey?: string;
  /** The schema of the configuration of one binding. */
  readonly schema: JsonSchema;
}

/** One binding of checked options. */
export interface BoundBinding<Row> {
  readonly row: Row;
  readonly name: string;
  readonly config: unknown;
}

type OptionalFields = Readonly<Record<`${string}?`, JsonSchema>>;

/** The options of `load()`. */
export function bindingFields(rows: readonly BindingShape[]): OptionalFields {
  return Object.fromEntries(
    rows.map(({ option, schema, isSingle }) => [
      `${option}?`,
      isSingle === true ? schema : record(schema, BINDING_NAME),
    ]),
  );
}

/** The arrays of tables of `edgehost.toml`. */
export function bindingTables(rows: readonly BindingShape[]): OptionalFields {
  return Object.fromEntries(
    rows.flatMap(({ toml, schema }) =>
      // A table in another one is part of the schema of that (file-schema.ts).
      toml === undefined || toml.table.includes('.') ? [] : [[`${toml.table}?`, bindingTable(toml, schema)] as const],
    ),
  );
}

/** One array of tables, by its row. */
export function bindingTable(
  { nameKey, isNameOptional, otherNameKey, unusedKeys = [], more, nameSchema }: BindingTable,
  schema: JsonSchema,
): JsonSchema {
  const unused = Object.fromEntries(unusedKeys.map(key => [`${key}?`, text()]));
  const fields = { binding: BINDING_NAME, ...unused, ...more };
  const nameField = isNameOptional === true ? `${nameKey}?` : nameKey;
  if (otherNameKey === undefined) return list(object({ ...fields, [nameField]: nameSchema ?? schema }));
  return list(
    object(
      { ...fields, [`${nameKey}?`]: schema, [`${otherNameKey}?`]: schema },
      // The last one is named where both are missing.
      { oneOf: [otherNameKey, nameKey].map(key => ({ required: [key], properties: { [key]: schema } })) },
    ),
  );
}

/** The key of the configuration of a binding in the management API. */
export function managementKeyOf({ managementKey, toml }: BindingShape): string | undefined {
  return managementKey ?? toml?.nameKey;
}

/** The types of bindings in the management API. */
export function managedBindings(rows: readonly BindingShape[]): JsonSchema[] {
  return rows.flatMap(row => {
    const key = managementKeyOf(row);
    return row.managementType === undefined || key === undefined
      ? []
      : [object({ type: constant(row.managementType), name: BINDING_NAME, ...fieldsOf(row, key) })];
  });
}

function fieldsOf({ schema, toml }: BindingShape, key: string): Readonly<Record<string, JsonSchema>> {
  return { [toml?.isNameOptional === true ? `${key}?` : key]: toml?.nameSchema ?? schema, ...toml?.more };
}

/** The configuration that a table of `edgehost.toml` says, which the schema has checked. */
export function configOfTable(
  { nameKey, otherNameKey, configOf }: BindingTable,
  table: Readonly<Record<string, unknown>>,
): unknown {
  const name = otherNameKey === undefined || Object.hasOwn(table, nameKey) ? table[nameKey] : table[otherNameKey];
  return configOf === undefined ? name : configOf(name, table);
}

/** The configuration that a binding of the management API says. */
export function configOfBinding(row: BindingShape, binding: Readonly<Record<string, unknown>>): unknown {
  const key = managementKeyOf(row);
  const name = key === undefined ? undefined : binding[key];
  return row.toml?.configOf === undefined ? name : row.toml.configOf(name, binding);
}

/** The bindings of checked options, of every kind. */
export function boundBindings<Row extends BindingShape>(options: object, rows: readonly Row[]): BoundBinding<Row>[] {
  return rows.flatMap(row => {
    const given: unknown = Reflect.get(options, row.option);
    if (row.isSingle === true) {
      const name = isObject(given) ? given.binding : undefined;
      return typeof name === 'string' ? [{ row, name, config: given }] : [];
    }
    return Object.entries(isObject(given) ? given : {}).map(([name, config]) => ({ row, name, config }));
  });
}
