/**
 * The bindings that a function may have, as its configuration names them: the part of the registry that options, files and the management
 * API read.
 */

import { BINDING_NAME } from '../quotas/binding-name.js';
import { isObject } from '../quotas/schema/describe.js';
import { constant, type JsonSchema, list, object, record } from '../quotas/schema/schema.js';

export interface BindingShape {
  /** The option of `load()`: an object of configurations by the name of the binding. */
  readonly option: string;
  /**
   * The table of `edgehost.toml` that is written once for each binding, and the key of the configuration in it and in the management API. Absent
   * where only the application's code can give a configuration.
   */
  readonly toml?: { readonly table: string; readonly nameKey: string };
  /** The type of the binding in the management API. */
  readonly managementType?: string;
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
  return Object.fromEntries(rows.map(({ option, schema }) => [`${option}?`, record(schema, BINDING_NAME)]));
}

/** The arrays of tables of `edgehost.toml`. */
export function bindingTables(rows: readonly BindingShape[]): OptionalFields {
  return Object.fromEntries(
    rows.flatMap(({ toml, schema }) =>
      toml === undefined
        ? []
        : [[`${toml.table}?`, list(object({ binding: BINDING_NAME, [toml.nameKey]: schema }))] as const],
    ),
  );
}

/** The types of bindings in the management API. */
export function managedBindings(rows: readonly BindingShape[]): JsonSchema[] {
  return rows.flatMap(({ managementType, toml, schema }) =>
    managementType === undefined || toml === undefined
      ? []
      : [object({ type: constant(managementType), name: BINDING_NAME, [toml.nameKey]: schema })],
  );
}

/** The bindings of checked options, of every kind. */
export function boundBindings<Row extends BindingShape>(options: object, rows: readonly Row[]): BoundBinding<Row>[] {
  return rows.flatMap(row => {
    const given: unknown = Reflect.get(options, row.option);
    return Object.entries(isObject(given) ? given : {}).map(([name, config]) => ({ row, name, config }));
  });
}
