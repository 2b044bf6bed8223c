/**
 * The schemas of the API: bodies are checked against them and the OpenAPI document publishes them, from this one table. References point into the document,
 * `#/components/schemas/Name`.
 */

import type { NamedBinding } from '../bindings/binding.js';
import { CACHE_PURGE } from '../bindings/cache/check-purge.js';
import { KV_LIMITS } from '../bindings/kv/limits.js';
import { CONFIGURED_NAME as KV_NAME } from '../bindings/kv/store/kv-directory.js';
import { CONTENT_TYPES } from '../bindings/queue/calls.js';
import { QUEUE_LIMITS } from '../bindings/queue/limits.js';
import { CONFIGURED_QUEUE } from '../bindings/queue/store/queue-directories.js';
import { type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import { CONFIGURED_DATABASE as DATABASE_NAME } from '../bindings/sql/store/sql-directory.js';
import type { RouteMode } from '../quotas/admission.js';
import { BINDING_NAME } from '../quotas/binding-name.js';
import { finiteLimitNumber } from '../quotas/limit-schema.js';
import { INVOCATION_KINDS, LIMIT_NAMES, type LimitName, PLANS, ZONE_PLANS } from '../quotas/limits.js';
import type { JsonSchema } from '../quotas/schema/schema.js';
import {
  anything,
  choice,
  constant,
  flag,
  list,
  object,
  optional,
  type Schema,
  type Static,
  text,
  union,
  wholeNumber,
} from '../quotas/schema/schema.js';
import { managedBindings } from '../shapes/binding-shapes.js';
import { WRITTEN_CONSUMER_FIELDS, WRITTEN_CONSUMERS } from '../shapes/consumer-shapes.js';
import { CRON_JITTER_MS, CRON_MISSED, CRON_OVERLAP } from '../shapes/cron-trigger.js';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  CRON,
  DEFAULT_ROUTE_MODE,
  ROUTE_MODE,
  ROUTE_PATTERN,
  SECRET,
  TAIL_CONSUMERS,
  USAGE_MODEL,
  VARIABLE,
} from '../shapes/function-shapes.js';
import { CALL_KINDS, INVOCATION_OUTCOMES } from '../usage/usage-slots.js';
import { RECORD_TYPE_NAMES, RECORD_TYPES, type RecordType } from './dns/record-types.js';
import { PERMISSIONS } from './permissions.js';

export type BodyName = keyof typeof REQUEST_SCHEMAS;

/** The type that each schema of a request body checks for. */
export type Bodies = { [N in BodyName]: Static<(typeof REQUEST_SCHEMAS)[N]> };

export type VariableBinding =
  | { readonly type: 'plain_text'; readonly name: string; readonly text: string }
  | { readonly type: 'json'; readonly name: string; readonly json: unknown };

/** In requests with its text, in answers without. */
export interface SecretBinding {
  readonly type: 'secret_text';
  readonly name: string;
  readonly text?: string;
}

/** A binding to a service of the host, of the type and with the key that its row of the registry has. */
export interface ServiceBinding {
  readonly type: string;
  readonly name: string;
  readonly [key: string]: unknown;
}

export type Binding = VariableBinding | SecretBinding | ServiceBinding;

export function isVariable(binding: Binding): binding is VariableBinding {
  return binding.type === 'plain_text' || binding.type === 'json';
}

export function isSecret(binding: Binding): binding is SecretBinding {
  return binding.type === 'secret_text';
}

export type FunctionMetadata = Bodies['FunctionMetadata'];
export type DnsRecordBody = Bodies['DnsRecordCreate'];

const string = text();
const boolean = flag();
const integer: Schema<number> = { type: 'integer' };
const shortText = (maxLength: number) => text({ minLength: 1, maxLength });
const dateTime = text({ format: 'date-time' });
const nullable = (type: string, rest: JsonSchema = {}) => ({ type: [type, 'null'], ...rest });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
/** An object whose members the code that uses it checks. */
const openObject: Schema<Readonly<Record<string, unknown>>> = { type: 'object' };

const zoneId = text({ pattern: '^[0-9a-f]{32}$' });
const account = object({ id: shortText(63) });
const moduleName = (of: string) =>
  text({
    pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    minLength: 1,
    maxLength: 255,
    description: `the name of the part that has ${of}: 1 to 255 printable characters`,
  });
const version = text({ format: 'uuid' });
const percentage: Schema<number> = { type: 'number', minimum: 0, maximum: 100 };
const routeMode: Schema<RouteMode> = { ...ROUTE_MODE, default: DEFAULT_ROUTE_MODE };
const message = text({ maxLength: 500 });

const comment: Schema<string | null> = nullable('string', { maxLength: 500 });
const recordInput = {
  type: choice(RECORD_TYPE_NAMES),
  name: shortText(255),
  'content?': shortText(8192),
  'data?': openObject,
  'ttl?': union([constant(1), wholeNumber(60, 86_400, 'seconds')], {
    description: 'a whole number of seconds from 60 to 86400, or 1 for automatic',
  }),
  'priority?': wholeNumber(0, 65_535),
  'proxied?': boolean,
  'comment?': comment,
  'tags?': list(shortText(100), { maxItems: 20, uniqueItems: true }),
};
/** Read-only fields of a record: they are ignored in requests, so that a record can be sent as it was read. */
const recordReadOnly = {
  'id?': anything(),
  'zone_id?': anything(),
  'zone_name?': anything(),
  'locked?': anything(),
  'proxiable?': anything(),
  'created_on?': anything(),
  'modified_on?': anything(),
};

const bindingInput = (rows: readonly NamedBinding[]): Schema<Binding> => ({
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    object({ type: constant('plain_text'), name: BINDING_NAME, text: string }),
    object({ type: constant('json'), name: BINDING_NAME, json: VARIABLE }),
    ...managedBindings(rows),
    object({ type: constant('secret_text'), name: BINDING_NAME, 'text?': SECRET }),
  ],
});

const bindings: Schema<readonly Binding[]> = ref('Bindings');
const configuration = {
  'compatibility_date?': COMPATIBILITY_DATE,
  'compatibility_flags?': COMPATIBILITY_FLAGS,
  'bindings?': bindings,
  'limits?': object({ 'cpu_ms?': finiteLimitNumber('cpuMs') }),
  'usage_model?': USAGE_MODEL,
  'tail_consumers?': TAIL_CONSUMERS,
};

/** By the name of the limit: `cpu_ms`. One number for all kinds of invocation. */
const accountLimits: Schema<Readonly<Record<string, number>>> = {
  type: 'object',
  properties: Object.fromEntries(LIMIT_NAMES.map(name => [apiName(name), finiteLimitNumber(name)])),
  required: [],
  additionalProperties: false,
};

/** The name of a limit in this API. */
export function apiName(name: LimitName): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

const functionFields = {
  id: string,
  created_on: dateTime,
  modified_on: dateTime,
  version_id: version,
  deployment_id: version,
  startup_time_ms: { type: 'number', minimum: 0 },
  usage_model: nullable('string'),
};

const day = text({ format: 'date' });
const counts = (names: readonly string[]) => object(Object.fromEntries(names.map(name => [name, integer])));

const quota = object({
  id: string,
  used: { type: 'number' },
  limit: nullable('number'),
  unit: string,
  resets_on: nullable('string', { format: 'date-time' }),
});

const errorItem = object({ code: integer, message: string, 'error_chain?': list(ref('Error')) });

function bindingsOf(rows: readonly NamedBinding[]): Schema<readonly Binding[]> {
  return list(bindingInput(rows), { maxItems: 1000 });
}

const kvKeyName = text({ minLength: 1 });
const kvPair = object({
  key: kvKeyName,
  value: string,
  'base64?': flag(),
  'expiration?': wholeNumber(1, KV_LIMITS.maxExpiration, 'seconds'),
  'expiration_ttl?': wholeNumber(1, KV_LIMITS.maxExpiration, 'seconds'),
  'metadata?': anything(),
});

const delaySeconds = wholeNumber(0, QUEUE_LIMITS.delaySeconds, 'seconds');
const leaseId = text({ minLength: 1, maxLength: 100 });
const queueMessage = object({
  body: anything(),
  'content_type?': choice(['json', 'text', 'bytes']),
  'delay_seconds?': delaySeconds,
});
const queueSettings = object({
  'delivery_delay?': delaySeconds,
  'message_retention_period?': wholeNumber(
    QUEUE_LIMITS.minRetentionMs / 1000,
    QUEUE_LIMITS.maxRetentionMs / 1000,
    'seconds',
  ),
  'delivery_paused?': flag(),
});

const REQUEST_SCHEMAS = {
  ZoneCreate: object({ name: shortText(255), account }),
  DnsRecordCreate: object({ ...recordInput, ...recordReadOnly }),
  DnsRecordReplace: object({ ...recordInput, ...recordReadOnly }),
  DnsRecordUpdate: object({ ...optional(recordInput), ...recordReadOnly }, { minProperties: 1 }),
  DnsSettingsUpdate: object({ 'multi_provider?': boolean, 'secondary_overrides?': boolean }, { minProperties: 1 }),
  DnsSettingUpdate: object({ value: boolean }),
  ZoneSettingUpdate: object({ value: anything() }),
  RouteInput: object({ pattern: ROUTE_PATTERN, function: shortText(63), 'mode?': routeMode }),
  FunctionMetadata: object(
    {
      'main_module?': moduleName('the main ES module'),
      'body_part?': moduleName('a classic script'),
      'message?': message,
      ...configuration,
    },
    { oneOf: [{ required: ['main_module'] }, { required: ['body_part'] }] },
  ),
  FunctionSettingsUpdate: object(configuration, { minProperties: 1 }),
  Bindings: bindingsOf(REGISTRY.named),
  SecretInput: object({ name: BINDING_NAME, text: SECRET }),
  Schedules: list(
    object({ cron: CRON, 'missed?': CRON_MISSED, 'overlap?': CRON_OVERLAP, 'jitter_ms?': CRON_JITTER_MS }),
    { maxItems: 1000 },
  ),
  ScheduleRun: object({
    'cron?': CRON,
    'scheduled_time?': text({ format: 'date-time', description: 'a time as RFC 3339 has it' }),
  }),
  DeploymentCreate: object({
    versions: list(object({ version_id: version, percentage }), { minItems: 1, maxItems: 2 }),
    'message?': message,
  }),
  AccountUpdate: object(
    {
      'plan?': choice(PLANS),
      'zone_plan?': choice(ZONE_PLANS),
      'limits?': accountLimits,
      'caps?': accountLimits,
      'zones?': list(shortText(255), { maxItems: 10_000 }),
    },
    { minProperties: 1 },
  ),
  BucketCreate: object({ name: shortText(255), 'storage_class?': choice(['Standard', 'InfrequentAccess']) }),
  KvNamespaceCreate: object({ name: KV_NAME }),
  KvPair: kvPair,
  KvPairs: list(kvPair, { maxItems: KV_LIMITS.bulkPairs }),
  KvKeyName: kvKeyName,
  KvKeyNames: list(kvKeyName, { maxItems: KV_LIMITS.bulkPairs }),
  SqlDatabaseCreate: object({ name: DATABASE_NAME }),
  SqlQuery: object({ sql: text({ minLength: 1, maxLength: 100_000 }), 'params?': list(anything(), { maxItems: 100 }) }),
  CachePurge: CACHE_PURGE,
  Consumers: WRITTEN_CONSUMERS,
  QueueCreate: object({ queue_name: CONFIGURED_QUEUE, 'settings?': queueSettings }),
  QueueUpdate: object({ settings: queueSettings }),
  QueueMessage: queueMessage,
  QueueMessages: object({
    messages: list(queueMessage, { minItems: 1, maxItems: QUEUE_LIMITS.batchMessages }),
    'delay_seconds?': delaySeconds,
  }),
  QueuePull: object({
    'batch_size?': wholeNumber(1, QUEUE_LIMITS.batchMessages),
    'visibility_timeout_ms?': wholeNumber(1, QUEUE_LIMITS.leaseMs, 'milliseconds'),
  }),
  QueueAck: object({
    'acks?': list(object({ lease_id: leaseId }), { maxItems: 1000 }),
    'retries?': list(object({ lease_id: leaseId, 'delay_seconds?': delaySeconds }), { maxItems: 1000 }),
  }),
  TokenCreate: object({
    name: shortText(120),
    permissions: list(choice(PERMISSIONS), { minItems: 1, uniqueItems: true }),
    'expires_on?': dateTime,
  }),
};

const queueSummary = {
  queue_name: string,
  created_on: dateTime,
  settings: object({ delivery_delay: integer, message_retention_period: integer, delivery_paused: boolean }),
};

const RESULT_SCHEMAS = {
  ConsumerList: WRITTEN_CONSUMERS,
  QueueSummary: object(queueSummary),
  Queue: object({
    ...queueSummary,
    backlog_count: integer,
    backlog_bytes: integer,
    oldest_message_timestamp_ms: nullable('integer'),
  }),
  QueueConsumer: object({ function: string, settings: object(WRITTEN_CONSUMER_FIELDS) }),
  QueuePulled: object({
    message_backlog_count: integer,
    messages: list(
      object({
        id: string,
        lease_id: string,
        attempts: integer,
        timestamp_ms: integer,
        content_type: choice(CONTENT_TYPES),
        body: { ...string, description: 'Text of json and text, base64 of bytes and v8' },
      }),
    ),
  }),
  QueueAcked: object({ ack_count: integer, retry_count: integer, warnings: list(string) }),
  QueuePurged: object({ deleted: integer }),
  Zone: object({ id: zoneId, name: string, account, created_on: dateTime, modified_on: dateTime }),
  DnsRecord: object({
    id: zoneId,
    type: { enum: [...RECORD_TYPE_NAMES] },
    name: string,
    content: string,
    proxiable: boolean,
    proxied: boolean,
    ttl: integer,
    'data?': { type: 'object' },
    'priority?': integer,
    comment: nullable('string'),
    tags: list(string),
    created_on: dateTime,
    modified_on: dateTime,
    'zone_id?': { ...zoneId, deprecated: true },
    'zone_name?': { ...string, deprecated: true },
    'locked?': { const: false, deprecated: true },
  }),
  DnsSetting: object({ value: boolean }),
  DnsSettings: object({ multi_provider: boolean, secondary_overrides: boolean }),
  ZoneSetting: object({
    id: string,
    value: {},
    editable: boolean,
    modified_on: nullable('string', { format: 'date-time' }),
  }),
  Route: object({ id: zoneId, pattern: string, function: string, mode: ROUTE_MODE }),
  Function: object(functionFields),
  FunctionVersion: object({
    id: version,
    number: integer,
    created_on: dateTime,
    main: string,
    modules: list(object({ name: string, type: string, size: integer })),
    hash: string,
    startup_time_ms: { type: 'number', minimum: 0 },
    compatibility_date: nullable('string'),
    compatibility_flags: list(string),
    bindings: list({ type: 'object' }),
    limits: { type: 'object' },
    usage_model: nullable('string'),
    'tail_consumers?': list({ type: 'object' }),
    message: nullable('string'),
  }),
  Deployment: object({
    id: version,
    created_on: dateTime,
    versions: list(object({ version_id: version, percentage: { type: 'number' } })),
    startup_time_ms: { type: 'number', minimum: 0 },
    message: nullable('string'),
  }),
  FunctionSettings: object({
    compatibility_date: nullable('string'),
    compatibility_flags: list(string),
    bindings: list({ type: 'object' }),
    limits: { type: 'object' },
    usage_model: nullable('string'),
    tail_consumers: list({ type: 'object' }),
  }),
  BindingList: list({ type: 'object', required: ['type', 'name'] }),
  Secret: object({ name: string, type: { const: 'secret_text' }, modified_on: dateTime }),
  ScheduleList: list(
    object({
      cron: string,
      'missed?': string,
      'overlap?': string,
      'jitter_ms?': integer,
      created_on: dateTime,
    }),
  ),
  ScheduleOutcome: object({
    outcome: { enum: ['ok', 'failed'] },
    cron: string,
    no_retry: { type: 'boolean' },
    error: nullable('object'),
  }),
  FunctionUsage: object({ requests: integer, errors: integer, cpu_ms: { type: 'number' }, subrequests: integer }),
  Account: object({
    id: string,
    plan: string,
    zone_plan: string,
    functions: list(string),
    zones: nullable('array', { items: string }),
    'storage?': object({ bytes: integer, objects: integer }),
  }),
  UsageReport: object({
    account: string,
    from: day,
    to: day,
    as_of: dateTime,
    records: list(
      object({
        day: nullable('string', { format: 'date' }),
        function: nullable('string'),
        invocations: integer,
        requests: integer,
        kinds: counts(INVOCATION_KINDS),
        outcomes: counts(INVOCATION_OUTCOMES),
        request_outcomes: counts(INVOCATION_OUTCOMES),
        cpu_ms: { type: 'number' },
        wall_ms: { type: 'number' },
        request_bytes: integer,
        response_bytes: integer,
        subrequests: integer,
        egress_sent_bytes: integer,
        egress_received_bytes: integer,
        cache_hits: integer,
        cache_stale_hits: integer,
        cache_misses: integer,
        cache_bytes: integer,
        calls: counts(CALL_KINDS),
      }),
    ),
    stored: object({ bytes: integer, objects: integer }),
    storage: list(
      object({
        day: nullable('string', { format: 'date' }),
        byte_hours: { type: 'number' },
        object_hours: { type: 'number' },
      }),
    ),
  }),
  AccountUsage: object({ plan: string, quotas: list(quota) }),
  Bucket: object({ name: string, storage_class: string, created_on: dateTime }),
  SqlDatabase: object({ id: string, created_on: dateTime, allotted_bytes: integer }),
  SqlResult: object({ success: { type: 'boolean' }, meta: { type: 'object' }, results: { type: 'array', items: {} } }),
  SqlImported: object({ num_statements: integer }),
  SqlMigration: object({ name: string, applied_at: dateTime }),
  ObjectNamespace: object({ id: string, function: string, class: string }),
  StoredObject: object({ id: string, bytes: integer, keys: integer, 'alarm_on?': dateTime }),
  KvNamespace: object({ id: string, created_on: dateTime }),
  KvBulk: object({ successful_key_count: integer, unsuccessful_keys: list(string) }),
  KvKey: object({ name: string, 'expiration?': integer, 'metadata?': {} }),
  Cache: object({ bytes: integer, entries: integer }),
  CachePurged: object({ purged: integer }),
  AuditEntry: object({
    id: string,
    when: dateTime,
    account: string,
    actor: object({ token_id: string, token_name: string, address: nullable('string') }),
    action: object({ method: string, path: string, route: string, status: integer }),
  }),
  Token: object({
    id: string,
    name: string,
    account: string,
    permissions: list(string),
    created_on: dateTime,
    expires_on: nullable('string', { format: 'date-time' }),
    'value?': { ...string, description: 'The token itself; shown once, when it is made' },
  }),
  TokenVerified: object({
    id: string,
    name: string,
    account: string,
    permissions: list(string),
    expires_on: nullable('string', { format: 'date-time' }),
  }),
  Deprecation: object({
    id: string,
    end_of_life: { type: 'string', format: 'date' },
    sunset: dateTime,
    over: boolean,
    summary: string,
    change: { type: 'object' },
    routes: list(object({ methods: list(string), path: string })),
    replacement: nullable('object'),
  }),
  Deleted: object({ id: string }),
  Error: errorItem,
  PageInfo: object({
    'page?': integer,
    per_page: integer,
    count: integer,
    'total_count?': integer,
    'total_pages?': integer,
    'cursor?': string,
  }),
  Failure: object({
    result: { type: 'null' },
    success: { const: false },
    errors: { ...list(ref('Error')), minItems: 1 },
    messages: list(ref('Error')),
  }),
} as const;

export type ResultName = keyof typeof RESULT_SCHEMAS;

/** `DnsData_SRV` and so on: what `data` of a record of the type must be. */
const DATA_SCHEMAS = Object.fromEntries(
  RECORD_TYPE_NAMES.flatMap(type => {
    const { shape } = RECORD_TYPES[type];
    return shape.kind === 'data' ? [[dataSchemaName(type), shape.schema]] : [];
  }),
);

/** One body for each that is accepted, shown in the document. */
const EXAMPLES = {
  ZoneCreate: { name: 'example.com', account: { id: 'acme' } },
  DnsRecordCreate: { type: 'A', name: 'www', content: '192.0.2.1', ttl: 3600 },
  DnsRecordReplace: { type: 'A', name: 'www', content: '192.0.2.2' },
  DnsRecordUpdate: { ttl: 300 },
  DnsSettingsUpdate: { multi_provider: true },
  DnsSettingUpdate: { value: true },
  ZoneSettingUpdate: { value: 'on' },
  RouteInput: { pattern: 'example.com/api/*', function: 'hello', mode: 'fail-open' },
  FunctionMetadata: { main_module: 'index.js', bindings: [{ type: 'plain_text', name: 'GREETING', text: 'hi' }] },
  FunctionSettingsUpdate: { limits: { cpu_ms: 50 } },
  Bindings: [{ type: 'store_bucket', name: 'FILES', bucket_name: 'files' }],
  SecretInput: { name: 'API_KEY', text: 'correct horse battery staple' },
  Schedules: [{ cron: '*/5 * * * *', missed: 'latest' }],
  ScheduleRun: { cron: '*/5 * * * *' },
  DeploymentCreate: { versions: [{ version_id: '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d', percentage: 100 }] },
  AccountUpdate: { plan: 'standard', limits: { storage_bytes: 1_000_000_000 } },
  BucketCreate: { name: 'files' },
  KvNamespaceCreate: { name: 'sessions' },
  KvPair: { key: 'user/1', value: 'aGVsbG8=', base64: true },
  KvPairs: [
    { key: 'user/1', value: 'hello', expiration_ttl: 3600, metadata: { plan: 'free' } },
    { key: 'user/2', value: 'aGVsbG8=', base64: true },
  ],
  KvKeyName: 'user/1',
  KvKeyNames: ['user/1', 'user/2'],
  SqlDatabaseCreate: { name: 'main' },
  SqlQuery: { sql: 'SELECT ?1 + 1 AS answer', params: [41] },
  CachePurge: { urls: ['https://example.com/a'], prefixes: ['example.com/images/'], tags: ['news'] },
  Consumers: [{ queue: 'jobs', max_batch_size: 100 }],
  QueueCreate: { queue_name: 'jobs' },
  QueueUpdate: { settings: { delivery_paused: true } },
  QueueMessage: { body: { task: 'resize' } },
  QueueMessages: { messages: [{ body: 1 }, { body: 'two', content_type: 'text' }] },
  QueuePull: { batch_size: 10 },
  QueueAck: { acks: [{ lease_id: '5f0c9a' }] },
  TokenCreate: { name: 'deploys', permissions: ['functions:edit'] },
} satisfies Readonly<Record<BodyName, unknown>>;

const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(Object.entries(REQUEST_SCHEMAS).map(([name, schema]) => [name, withExample(name, schema)])),
  ...RESULT_SCHEMAS,
  ...DATA_SCHEMAS,
};

/** The schemas of a host that has these bindings. */
export function schemasOf({ named }: BindingRegistry): Readonly<Record<string, JsonSchema>> {
  return named === REGISTRY.named ? SCHEMAS : { ...SCHEMAS, Bindings: withExample('Bindings', bindingsOf(named)) };
}

export function dataSchemaName(type: RecordType): string {
  return `DnsData_${type}`;
}

function withExample(name: string, schema: JsonSchema): JsonSchema {
  const example = Object.entries(EXAMPLES).find(([key]) => key === name)?.[1];
  return { ...schema, examples: [example] };
}
