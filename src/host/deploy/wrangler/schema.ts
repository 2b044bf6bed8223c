/** The schemas of the keys of the hosted platform's file that have an effect here. Keys in them that are not listed are reported and left out. */
import { CONFIGURED_QUEUE } from '../../../bindings/queue/store/stored-queues.js';
import { WRITTEN_ASSETS } from '../../../config-schema/asset-shapes.js';
import { WRITTEN_CONSUMER_FIELDS } from '../../../config-schema/consumer-shapes.js';
import { COMPATIBILITY_DATE, CRON, NAME, ROUTE_PATTERN, VARIABLES } from '../../../config-schema/function-shapes.js';
import { BINDING_NAME } from '../../../quotas/binding-name.js';
import {
  anything,
  choice,
  flag,
  type JsonSchema,
  list,
  type ObjectOf,
  object,
  record,
  text,
  union,
  wholeNumber,
  wholeNumberFrom,
} from '../../../quotas/schema/schema.js';
import { WRANGLER_KEY_NAMES } from './keys.js';

const FILLED = text({ minLength: 1 });
const REMOTE = { 'remote?': flag() };
const GLOBS = list(text({ minLength: 1, maxLength: 256 }), { minItems: 1 });

export const RULE_TYPES = [
  'ESModule',
  'CommonJS',
  'Text',
  'Data',
  'CompiledWasm',
  'PythonModule',
  'PythonRequirement',
] as const;

const ROUTE = union(
  [
    ROUTE_PATTERN,
    object({
      pattern: ROUTE_PATTERN,
      'zone_name?': text(),
      'zone_id?': text(),
      'custom_domain?': flag(),
      'enabled?': flag(),
      'previews_enabled?': flag(),
    }),
  ],
  { description: 'a route pattern, or an object of pattern, zone_name and custom_domain' },
);

const CONSUMER = {
  ...WRITTEN_CONSUMER_FIELDS,
  queue: CONFIGURED_QUEUE,
  'type?': text(),
  'max_concurrency?': union([{ type: 'null' }, WRITTEN_CONSUMER_FIELDS['max_concurrency?']], {
    description: 'a whole number, or null for as many as the backlog needs',
  }),
  'visibility_timeout_ms?': wholeNumberFrom(0, 'ms'),
};

const RENAMED = object({ from: FILLED, to: FILLED });

export const MAPPED_FIELDS = {
  'name?': NAME,
  'main?': FILLED,
  'compatibility_date?': COMPATIBILITY_DATE,
  'compatibility_flags?': list(text({ minLength: 1 }), { maxItems: 100 }),
  'route?': ROUTE,
  'routes?': list(ROUTE),
  'triggers?': object({ 'crons?': list(CRON) }),
  'limits?': object({ 'cpu_ms?': wholeNumberFrom(1, 'ms'), 'subrequests?': wholeNumberFrom(0) }),
  'vars?': VARIABLES,
  'secrets?': object({ 'required?': list(BINDING_NAME) }),
  'kv_namespaces?': list(object({ binding: BINDING_NAME, 'id?': text(), 'preview_id?': text(), ...REMOTE })),
  'r2_buckets?': list(
    object({
      binding: BINDING_NAME,
      'bucket_name?': text(),
      'preview_bucket_name?': text(),
      'jurisdiction?': text(),
      ...REMOTE,
    }),
  ),
  'd1_databases?': list(
    object({
      binding: BINDING_NAME,
      'database_name?': text(),
      'database_id?': text(),
      'preview_database_id?': text(),
      'database_internal_env?': text(),
      'migrations_table?': text(),
      'migrations_dir?': FILLED,
      'migrations_pattern?': text(),
      ...REMOTE,
    }),
  ),
  'queues?': object({
    'producers?': list(
      object({
        binding: BINDING_NAME,
        queue: CONFIGURED_QUEUE,
        'delivery_delay?': wholeNumber(0, 43_200, 'seconds'),
        ...REMOTE,
      }),
    ),
    'consumers?': list(object(CONSUMER)),
  }),
  'durable_objects?': object({
    'bindings?': list(
      object({ name: BINDING_NAME, class_name: FILLED, 'script_name?': NAME, 'environment?': text(), ...REMOTE }),
    ),
  }),
  'migrations?': list(
    object({
      'tag?': text(),
      'new_classes?': list(FILLED),
      'new_sqlite_classes?': list(FILLED),
      'renamed_classes?': list(RENAMED),
      'deleted_classes?': list(FILLED),
      'transferred_classes?': list(object({ from: FILLED, from_script: FILLED, to: FILLED })),
    }),
  ),
  'services?': list(
    object({
      binding: BINDING_NAME,
      service: NAME,
      'entrypoint?': FILLED,
      'environment?': text(),
      'props?': record(anything()),
      ...REMOTE,
    }),
  ),
  'assets?': WRITTEN_ASSETS,
  'tail_consumers?': list(object({ service: NAME, 'environment?': text() }), { maxItems: 10 }),
  'hyperdrive?': list(object({ binding: BINDING_NAME, 'id?': text(), 'localConnectionString?': text() })),
  'version_metadata?': object({ binding: BINDING_NAME }),
  'worker_loaders?': list(object({ binding: BINDING_NAME })),
  'build?': object({ 'command?': text(), 'cwd?': text(), 'watch_dir?': union([text(), list(text())]) }),
  'rules?': list(object({ type: choice(RULE_TYPES), globs: GLOBS, 'fallthrough?': flag() })),
  'no_bundle?': flag(),
  'find_additional_modules?': flag(),
  'base_dir?': FILLED,
  'define?': record(text()),
  'alias?': record(text()),
  'tsconfig?': FILLED,
  'jsx_factory?': FILLED,
  'jsx_fragment?': FILLED,
};

/** The part of a file that has been checked. */
export type WranglerTable = ObjectOf<typeof MAPPED_FIELDS>;

/** Keys whose values are checked elsewhere, or not at all, are anything. */
export const WRANGLER_SCHEMA: JsonSchema = object({
  ...Object.fromEntries(WRANGLER_KEY_NAMES.map(name => [`${name}?`, anything()])),
  ...MAPPED_FIELDS,
});
