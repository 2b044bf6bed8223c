/** The bindings that a function may have, as its configuration names them: the one list that options, files and the management API go by. */

import { BINDING_NAME } from '../../quotas/binding-name.js';
import { type FieldsOf, fieldsOf, type JsonSchema, record, text } from '../../quotas/schema/schema.js';

/** Options of `load()` that bind something, each by the name of the binding. */
export interface BindingOptions {
  /** Binding name to bucket name. */
  readonly buckets?: Readonly<Record<string, string>>;
}

export interface BindingShape {
  /** The option of `load()`: an object of configurations by the name of the binding. */
  readonly option: string;
  /** The table of `edgehost.toml` that is written once for each binding; absent when a file cannot have it. */
  readonly toml?: { readonly table: string };
  /** The type of the binding in the management API. */
  readonly managementType: string;
  /** Of the configuration of one binding. */
  readonly schema: JsonSchema;
  /**
   * The key of a configuration that is one value, in files and in the management API. A configuration that is an object has keys of its own,
   * which are written there in snake case.
   */
  readonly key?: string;
}

export const BINDING_SHAPES: readonly BindingShape[] = [
  {
    option: 'buckets',
    toml: { table: 'store_buckets' },
    managementType: 'store_bucket',
    schema: text({ minLength: 1, maxLength: 255, description: 'the name of a bucket' }),
    key: 'bucket_name',
  },
];

/** The options of `load()` for them. */
export function bindingFields(): FieldsOf<BindingOptions> {
  const fields = BINDING_SHAPES.map(({ option, schema }) => [`${option}?`, record(schema, BINDING_NAME)]);
  // The list has a row for each option that BindingOptions documents.
  return Object.fromEntries(fields) as FieldsOf<BindingOptions>;
}

/** Copies of the bindings of checked options, all kinds of them. */
export function bindingsOf(options: BindingOptions): Required<BindingOptions> {
  const bindings = BINDING_SHAPES.map(({ option }) => [option, { ...Reflect.get(options, option) }]);
  // Each was checked by the schema of its row.
  return Object.fromEntries(bindings) as Required<BindingOptions>;
}

/** The fields of one binding where bindings are a list, besides the name and the type. */
export function listedFields({ schema, key }: BindingShape): Readonly<Record<string, JsonSchema>> {
  if (key !== undefined) return { [key]: schema };
  const fields = Object.entries(fieldsOf(schema));
  return Object.fromEntries(fields.map(([name, field]) => [name.replace(/^[^?]+/, snakeCase), field]));
}

/** The configuration of a binding that was checked by {@link listedFields}. */
export function configurationOf({ schema, key }: BindingShape, listed: object): unknown {
  if (key !== undefined) return Reflect.get(listed, key);
  const names = Object.keys(fieldsOf(schema)).map(name => name.replace(/\?$/, ''));
  const given = names.map(name => [name, Reflect.get(listed, snakeCase(name))]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** `cpuMs` is `cpu_ms` in files and in the management API. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
