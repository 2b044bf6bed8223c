/**
 * The schemas of the API: bodies are checked against them and the OpenAPI document publishes them, from this one table.
 * References are those of the document, `#/components/schemas/Name`.
 */

import type { NamedBinding } from '../../bindings/binding.js';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import { PLANS } from '../../quotas/limits.js';
import {
  type JsonSchema,
  RECORD_TYPE_NAMES,
  RECORD_TYPES,
  type RecordData,
  type RecordType,
} from './dns/record-types.js';
import { PERMISSIONS, type Permission } from './permissions.js';
import type { RouteMode, UsageModel } from './ports.js';

/** The type that each schema of a request body checks for. */
export interface Bodies {
  ZoneCreate: { readonly name: string; readonly account: { readonly id: string } };
  DnsRecordCreate: DnsRecordBody;
  DnsRecordReplace: DnsRecordBody;
  DnsRecordUpdate: Partial<DnsRecordBody>;
  DnsSettingsUpdate: { readonly multi_provider?: boolean; readonly secondary_overrides?: boolean };
  DnsSettingUpdate: { readonly value: boolean };
  ZoneSettingUpdate: { readonly value: unknown };
  RouteInput: { readonly pattern: string; readonly function: string; readonly mode?: RouteMode };
  FunctionMetadata: FunctionMetadata;
  FunctionSettingsUpdate: Omit<FunctionMetadata, 'main_module' | 'body_part' | 'message'>;
  Bindings: readonly Binding[];
  SecretInput: { readonly name: string; readonly text: string };
  Schedules: readonly { readonly cron: string }[];
  DeploymentCreate: {
    readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
    readonly message?: string;
  };
  BucketCreate: { readonly name: string; readonly storage_class?: 'Standard' | 'InfrequentAccess' };
  TokenCreate: { readonly name: string; readonly permissions: readonly Permission[]; readonly expires_on?: string };
}

export type BodyName = keyof Bodies;

export interface DnsRecordBody {
  readonly type: RecordType;
  readonly name: string;
  readonly content?: string;
  readonly data?: RecordData;
  readonly ttl?: number;
  readonly priority?: number;
  readonly proxied?: boolean;
  readonly comment?: string | null;
  readonly tags?: readonly string[];
}

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
  readonly type: NamedBinding['managementType'];
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

export interface FunctionMetadata {
  readonly main_module?: string;
  readonly body_part?: string;
  readonly message?: string;
  readonly compatibility_date?: string;
  readonly compatibility_flags?: readonly string[];
  readonly bindings?: readonly Binding[];
  readonly limits?: { readonly cpu_ms?: number };
  readonly usage_model?: UsageModel;
}

const string = { type: 'string' } as const;
const boolean = { type: 'boolean' } as const;
const integer = { type: 'integer' } as const;
const dateTime = { type: 'string', format: 'date-time' } as const;
const nullable = (type: string, rest: JsonSchema = {}) => ({ type: [type, 'null'], ...rest });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const list = (items: JsonSchema) => ({ type: 'array', items });

/** An object with nothing besides; a name that ends in `?` is optional. */
function object(properties: Readonly<Record<string, JsonSchema>>, extra: JsonSchema = {}): JsonSchema {
  const entries = Object.entries(properties);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    required: entries.map(([name]) => name).filter(name => !name.endsWith('?')),
    additionalProperties: false,
    ...extra,
  };
}

const zoneId = { type: 'string', pattern: '^[0-9a-f]{32}$' };
const account = object({ id: { ...string, minLength: 1, maxLength: 63 } });
const identifier = {
  type: 'string',
  pattern: '^[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]*$',
  maxLength: 255,
  description: 'A JavaScript identifier',
};
const moduleName = { type: 'string', pattern: '^[^\\u0000-\\u001f\\u007f]+$', minLength: 1, maxLength: 255 };
const version = { type: 'string', format: 'uuid' };

const recordInput = {
  type: { enum: [...RECORD_TYPE_NAMES] },
  name: { ...string, minLength: 1, maxLength: 255 },
  'content?': { ...string, minLength: 1, maxLength: 8192 },
  'data?': { type: 'object' },
  'ttl?': {
    description: 'Seconds; 1 stands for automatic',
    anyOf: [{ const: 1 }, { type: 'integer', minimum: 60, maximum: 86_400 }],
  },
  'priority?': { type: 'integer', minimum: 0, maximum: 65_535 },
  'proxied?': boolean,
  'comment?': nullable('string', { maxLength: 500 }),
  'tags?': { ...list({ ...string, minLength: 1, maxLength: 100 }), maxItems: 20, uniqueItems: true },
};
/** What a record carries in answers: ignored when it comes back, so that what was read can be sent. */
const recordReadOnly = {
  'id?': {},
  'zone_id?': {},
  'zone_name?': {},
  'locked?': {},
  'proxiable?': {},
  'created_on?': {},
  'modified_on?': {},
};
const optional = (properties: Readonly<Record<string, JsonSchema>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [`${name.replace(/\?$/, '')}?`, schema]));

const bindingInput = (rows: readonly NamedBinding[]): JsonSchema => ({
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    object({ type: { const: 'plain_text' }, name: identifier, text: string }),
    object({ type: { const: 'json' }, name: identifier, json: {} }),
    ...rows.map(({ managementType, toml: { nameKey }, schema }) =>
      object({ type: { const: managementType }, name: identifier, [nameKey]: schema }),
    ),
    object({ type: { const: 'secret_text' }, name: identifier, 'text?': string }),
  ],
});

const configuration = {
  'compatibility_date?': { type: 'string', format: 'date' },
  'compatibility_flags?': { ...list({ ...string, minLength: 1, maxLength: 100 }), maxItems: 100, uniqueItems: true },
  'bindings?': ref('Bindings'),
  'limits?': object({ 'cpu_ms?': { type: 'integer', minimum: 1 } }),
  'usage_model?': { enum: [...PLANS] },
};

const functionFields = {
  id: string,
  created_on: dateTime,
  modified_on: dateTime,
  version_id: version,
  deployment_id: version,
  startup_time_ms: { type: 'number', minimum: 0 },
  usage_model: nullable('string'),
};

const quota = object({
  id: string,
  used: { type: 'number' },
  limit: nullable('number'),
  unit: string,
  resets_on: nullable('string', { format: 'date-time' }),
});

const errorItem = object({ code: integer, message: string, 'error_chain?': list(ref('Error')) });

function bindingsOf(rows: readonly NamedBinding[]): JsonSchema {
  return { ...list(bindingInput(rows)), maxItems: 1000 };
}

const REQUEST_SCHEMAS: Readonly<Record<BodyName, JsonSchema>> = {
  ZoneCreate: object({ name: { ...string, minLength: 1, maxLength: 255 }, account }),
  DnsRecordCreate: object({ ...recordInput, ...recordReadOnly }),
  DnsRecordReplace: object({ ...recordInput, ...recordReadOnly }),
  DnsRecordUpdate: object({ ...optional(recordInput), ...recordReadOnly }, { minProperties: 1 }),
  DnsSettingsUpdate: object({ 'multi_provider?': boolean, 'secondary_overrides?': boolean }, { minProperties: 1 }),
  DnsSettingUpdate: object({ value: boolean }),
  ZoneSettingUpdate: object({ value: {} }),
  RouteInput: object({
    pattern: { ...string, minLength: 1, maxLength: 2048 },
    function: { ...string, minLength: 1, maxLength: 63 },
    'mode?': { enum: ['fail-open', 'fail-closed'], default: 'fail-open' },
  }),
  FunctionMetadata: object(
    {
      'main_module?': { ...moduleName, description: 'Part of the main ES module' },
      'body_part?': { ...moduleName, description: 'Part of a classic script' },
      'message?': { ...string, maxLength: 500 },
      ...configuration,
    },
    { oneOf: [{ required: ['main_module'] }, { required: ['body_part'] }] },
  ),
  FunctionSettingsUpdate: object(configuration, { minProperties: 1 }),
  Bindings: bindingsOf(REGISTRY.named),
  SecretInput: object({ name: identifier, text: string }),
  Schedules: { ...list(object({ cron: { ...string, minLength: 9, maxLength: 200 } })), maxItems: 1000 },
  DeploymentCreate: object({
    versions: {
      ...list(object({ version_id: version, percentage: { type: 'number', minimum: 0, maximum: 100 } })),
      minItems: 1,
      maxItems: 2,
    },
    'message?': { ...string, maxLength: 500 },
  }),
  BucketCreate: object({
    name: { ...string, minLength: 1, maxLength: 255 },
    'storage_class?': { enum: ['Standard', 'InfrequentAccess'] },
  }),
  TokenCreate: object({
    name: { ...string, minLength: 1, maxLength: 120 },
    permissions: { ...list({ enum: [...PERMISSIONS] }), minItems: 1, uniqueItems: true },
    'expires_on?': dateTime,
  }),
};

const RESULT_SCHEMAS = {
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
  Route: object({ id: zoneId, pattern: string, function: string, mode: { enum: ['fail-open', 'fail-closed'] } }),
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
  }),
  BindingList: list({ type: 'object', required: ['type', 'name'] }),
  Secret: object({ name: string, type: { const: 'secret_text' }, modified_on: dateTime }),
  ScheduleList: list(object({ cron: string, created_on: dateTime })),
  FunctionUsage: object({ requests: integer, errors: integer, cpu_ms: { type: 'number' }, subrequests: integer }),
  AccountUsage: object({ plan: string, quotas: list(quota) }),
  Bucket: object({ name: string, storage_class: string, created_on: dateTime }),
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
  Schedules: [{ cron: '*/5 * * * *' }],
  DeploymentCreate: { versions: [{ version_id: '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d', percentage: 100 }] },
  BucketCreate: { name: 'files' },
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
