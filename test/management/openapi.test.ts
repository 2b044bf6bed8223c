import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import { PERMISSIONS } from '../../src/management/permissions.js';
import type { FamilyHandler } from '../../src/management/ports.js';
import { type Api, makeApi, OWNER_TOKEN, TOKEN, upload } from './support/api.js';
import { objectOf } from './support/memory-port.js';

const DATES = ['2019-01-01', '2024-07-01', '2026-01-01'] as const;

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly 'x-sunset'?: string;
  readonly 'x-permission'?: string;
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly examples?: readonly unknown[] }>> };
}

const family: FamilyHandler = async () => Response.json({ owner: true });
const OPTIONS = {
  families: {
    'firewall-rules': family,
    'waf-packages': family,
    'rate-limits': family,
    'account-tunnels': family,
    billing: family,
    'access-bookmarks': family,
    'page-shield': family,
    'image-direct-upload': family,
    'zone-analytics': family,
    organizations: family,
  },
  zoneSettings: { always_use_https: { schema: { enum: ['on', 'off'] }, default: 'off' } },
} as const;

/** The document as a client gets it. */
async function documentOf(api: Api): Promise<Document> {
  const response = await api.management.fetch(new Request('http://localhost/openapi.json'));
  return JSON.parse(await response.text());
}

test('openapi.json of 2019-01-01 has a route for each permission', async t => {
  const { paths } = await documentOf(makeApi(OPTIONS, '2019-01-01T00:00:00Z'));
  const operations = Object.values(paths).flatMap(methods => Object.values(methods));
  const asked = new Set(operations.flatMap(operation => operation['x-permission'] ?? []));
  t.deepEqual([...asked].sort(), [...PERMISSIONS].sort());
});

for (const date of DATES) {
  test(`openapi.json of ${date} is valid by the schema of OpenAPI 3.1`, async t => {
    const api = makeApi(OPTIONS, `${date}T00:00:00Z`);
    const document = await documentOf(api);
    t.is(document.openapi, '3.1.0');
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
    t.true(valid, JSON.stringify(errors));
  });

  test(`openapi.json of ${date} drives every route, and every answer fits its schema`, async t => {
    const api = makeApi({ ...OPTIONS, rateLimit: { requests: 10_000 } }, `${date}T00:00:00Z`);
    const document = await documentOf(api);
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addSchema({ ...document, $id: 'https://api.invalid/' });
    const ids = await seed(api);
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    // What is deleted is needed before.
    operations.sort((a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'));
    for (const { path, method, operation } of operations) {
      const values = { ...ids, ...SPARE[operation.operationId]?.(ids) };
      const url = operation.parameters
        .filter(parameter => parameter.in === 'path')
        .reduce((done, { name, example }) => done.replace(`{${name}}`, values[name] ?? example ?? 'x'), path);
      const answer = await api.call(method.toUpperCase(), url, bodyFor(operation, document, values), {
        token: tokenFor(operation),
      });
      const expected = Object.keys(operation.responses).filter(status => status !== 'default');
      const fits = expected.some(status =>
        new RegExp(`^${status.replace('XX', '\\d\\d')}$`).test(String(answer.status)),
      );
      t.true(
        fits,
        `${method} ${url}: ${answer.status}, documented ${expected.join()}: ${JSON.stringify(answer.body.errors)}`,
      );
      const described = operation.responses[String(answer.status)]?.content?.['application/json']?.schema;
      if (described === undefined) continue;
      const pointer = `#/paths/${escapePointer(path)}/${method}/responses/${answer.status}/content/application~1json/schema`;
      const validate = ajv.compile({ $ref: `https://api.invalid/${pointer}` });
      t.true(
        validate(answer.body),
        `${method} ${path}: ${JSON.stringify(validate.errors)} ${JSON.stringify(answer.body)}`,
      );
    }
    t.is(operations.length, api.management.routes.length);
  });
}

test('openapi.json marks every route that ends as deprecated, with its date', async t => {
  const api = makeApi({ schedule: { endOfLife: { 'rate-limits': '2031-01-01' } } });
  const document = await documentOf(api);
  t.like(document.paths['/zones/{zone_id}/rate_limits']?.get, { deprecated: true, 'x-sunset': '2031-01-01' });
  const marked = Object.values(document.paths)
    .flatMap(Object.values)
    .filter(operation => operation.deprecated);
  const ending = api.management.schedule.rows
    .filter(({ change }) => change.kind === 'routes-gone' || change.kind === 'segment-renamed')
    .flatMap(row => row.routes.flatMap(({ methods }) => methods));
  t.is(marked.length, ending.length);
});

test('openapi.json documents a route that is gone by its 410 alone', async t => {
  const document = await documentOf(makeApi());
  t.deepEqual(Object.keys(document.paths['/user/billing/history']?.get?.responses ?? {}), ['410']);
});

test('openapi() answers the document of another date', t => {
  const { management } = makeApi();
  t.false(JSON.stringify(management.openapi(new Date('2019-01-01'))).includes('"410"'));
  t.true(JSON.stringify(management.openapi()).includes('"410"'));
});

function tokenFor(operation: Operation): string | null {
  if (operation.security !== undefined) return null;
  return operation['x-permission']?.startsWith('accounts:') ? OWNER_TOKEN : TOKEN;
}

const STORED = objectOf('acme');

/** What nothing depends on, for the operations that delete. */
const SPARE: Readonly<Record<string, (ids: Readonly<Record<string, string>>) => Readonly<Record<string, string>>>> = {
  'account-remove': () => ({ account_id: 'other' }),
  'function-delete': () => ({ function_name: 'free' }),
  'kv-namespace-delete': () => ({ namespace_id: 'spare' }),
  'sql-database-delete': () => ({ database_id: 'spare' }),
  'object-namespace-get': () => ({ namespace_id: STORED.namespace }),
  'object-list': () => ({ namespace_id: STORED.namespace }),
  'object-delete': () => ({ namespace_id: STORED.namespace, object_id: STORED.object }),
  'zone-delete': ids => ({ zone_id: ids.spare_zone ?? '' }),
};

/** One record of every kind; the ids by the names of path parameters. */
async function seed(api: Api): Promise<Readonly<Record<string, string>>> {
  const zone = await api.zone('example.com');
  const record = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'seed', content: 'x' });
  const hello = await api.call('PUT', '/accounts/acme/functions/hello', upload('export default {}'));
  await api.call('PUT', '/accounts/acme/functions/hello/secrets', { name: 'API_KEY', text: 'x' });
  await api.call('PUT', '/accounts/acme/functions/free', upload('export default {}'));
  const route = await api.call('POST', `/zones/${zone}/routes`, { pattern: 'example.com/seed', function: 'hello' });
  await api.call('POST', '/accounts/acme/buckets', { name: 'seeded' });
  await api.call('POST', '/accounts/acme/kv/namespaces', { name: 'spare' });
  await api.call('POST', '/accounts/acme/kv/namespaces', { name: 'seeded' });
  await api.call('PUT', '/accounts/acme/kv/namespaces/seeded/values/seed', 'x');
  await api.call('POST', '/accounts/acme/sql/databases', { name: 'spare' });
  await api.call('POST', '/accounts/acme/sql/databases', { name: 'seeded' });
  const token = await api.call('POST', '/accounts/acme/tokens', { name: 'seed', permissions: ['zones:read'] });
  return {
    zone_id: zone,
    zone_identifier: zone,
    spare_zone: await api.zone('spare.example'),
    dns_record_id: String(record.result.id),
    version_id: String(hello.result.version_id),
    deployment_id: String(hello.result.deployment_id),
    route_id: String(route.result.id),
    token_id: String(token.result.id),
    account_id: 'acme',
    account_identifier: 'acme',
    organization_identifier: 'acme',
    identifier: 'acme',
    bucket_name: 'seeded',
    namespace_id: 'seeded',
    database_id: 'seeded',
    key_name: 'seed',
  };
}

function bodyFor(operation: Operation, document: Document, ids: Readonly<Record<string, string>>): unknown {
  const content = operation.requestBody?.content ?? {};
  if ('multipart/form-data' in content) return upload('export default {}');
  if (operation.operationId === 'sql-import') return 'CREATE TABLE IF NOT EXISTS a (x)';
  if ('application/octet-stream' in content) return 'x';
  if ('*/*' in content) return {};
  const name = content['application/json']?.schema?.$ref?.split('/').at(-1);
  if (name === undefined) return undefined;
  if (operation.operationId === 'setting-minify-update') return { value: { css: 'on', html: 'on', js: 'on' } };
  if (operation.operationId === 'setting-mobile-redirect-update')
    return { value: { status: 'on', mobile_subdomain: 'm', strip_uri: false } };
  if (operation.operationId === 'route-replace') return { pattern: 'example.com/other', function: 'hello' };
  if (operation.operationId === 'zone-create') return { name: 'second.example', account: { id: 'acme' } };
  const example = JSON.stringify(document.components.schemas[name]?.examples?.[0]);
  return JSON.parse(example.replace('6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d', ids.version_id ?? ''));
}

function escapePointer(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
}
