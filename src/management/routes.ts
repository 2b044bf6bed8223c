/** The resources of the API. Routers, the OpenAPI document and the tests are made from this list. */

import { type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import type { JsonSchema } from '../quotas/schema/schema.js';
import type { Schedule } from './deprecations/deprecation-timeline.js';
import { DEPRECATIONS, type FamilyId, type Method } from './deprecations/deprecations.js';
import { BINDINGS, bindingsOf } from './function-schemas.js';
import { ACCOUNTS_API } from './resources/accounts.js';
import { AUDIT_LOGS_API } from './resources/audit-logs.js';
import { BUCKETS_API } from './resources/buckets.js';
import { CACHES_API } from './resources/caches.js';
import { DATABASES_API } from './resources/databases.js';
import { CONSUMERS_API } from './resources/functions/consumers.js';
import { DEPLOYMENTS_API } from './resources/functions/deployments.js';
import { FUNCTION_SETTINGS_API } from './resources/functions/function-settings.js';
import { FUNCTIONS_API } from './resources/functions/functions.js';
import { SCHEDULES_API } from './resources/functions/schedules.js';
import { SECRETS_API } from './resources/functions/secrets.js';
import { VERSIONS_API } from './resources/functions/versions.js';
import { KV_BULK_API } from './resources/kv/bulk.js';
import { KV_NAMESPACES_API } from './resources/kv/namespaces.js';
import { KV_VALUES_API } from './resources/kv/values.js';
import { META_API } from './resources/meta.js';
import { OBJECTS_API } from './resources/objects.js';
import { QUEUES_API } from './resources/queues.js';
import { TAILS_API } from './resources/tails.js';
import { TOKENS_API } from './resources/tokens.js';
import { USAGE_API } from './resources/usage.js';
import { USAGE_RECORDS_API } from './resources/usage-records.js';
import { DNS_RECORDS_API } from './resources/zones/dns-records.js';
import { DNS_SETTINGS_API } from './resources/zones/dns-settings.js';
import { ROUTES_API } from './resources/zones/routes.js';
import { ZONE_SETTINGS_API } from './resources/zones/zone-settings.js';
import { ZONES_API } from './resources/zones/zones.js';
import { type ApiRoute, type Resource, ZONE_PATH } from './route.js';
import { ERROR, FAILURE, type NamedSchema, PAGE_INFO } from './schemas.js';
import type { Schemas } from './validator.js';

/** In the order of the document. */
const RESOURCES: readonly Resource[] = [
  META_API,
  ZONES_API,
  DNS_RECORDS_API,
  DNS_SETTINGS_API,
  ZONE_SETTINGS_API,
  ROUTES_API,
  ACCOUNTS_API,
  FUNCTIONS_API,
  VERSIONS_API,
  DEPLOYMENTS_API,
  FUNCTION_SETTINGS_API,
  SECRETS_API,
  SCHEDULES_API,
  CONSUMERS_API,
  QUEUES_API,
  BUCKETS_API,
  DATABASES_API,
  KV_NAMESPACES_API,
  KV_VALUES_API,
  KV_BULK_API,
  OBJECTS_API,
  CACHES_API,
  USAGE_API,
  USAGE_RECORDS_API,
  TAILS_API,
  AUDIT_LOGS_API,
  TOKENS_API,
];

/** Routes that take over from deprecated families; the same handlers of the owner answer them. */
const SUCCESSORS: readonly { readonly family: FamilyId; readonly methods: readonly Method[]; readonly path: string }[] =
  [
    { family: 'page-shield', methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], path: `${ZONE_PATH}/page_shield` },
    {
      family: 'page-shield',
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      path: `${ZONE_PATH}/page_shield/{path...}`,
    },
    {
      family: 'image-direct-upload',
      methods: ['POST'],
      path: '/accounts/{account_identifier}/images/v2/direct_upload',
    },
  ];

/** All routes. The schedule is asked for the paths of the families: its owner may have renamed a segment. */
export function allRoutes(schedule: Schedule): readonly ApiRoute[] {
  const families = DEPRECATIONS.flatMap(row => {
    if (!('family' in row)) return [];
    const { change, routes: paths = [] } = schedule.find(row.id) ?? {};
    return paths.flatMap(({ methods, path }, index) => {
      const current = change?.kind === 'segment-renamed' ? path.replace(`/${change.from}`, `/${change.to}`) : path;
      return methods.map(method => familyRoute(row.id, method, path, current, index));
    });
  });
  const successors = SUCCESSORS.flatMap(({ family, methods, path }, index) =>
    methods.map(method => familyRoute(family, method, path, path, index, 'successor')),
  );
  return [...RESOURCES.flatMap(routesOf), ...families, ...successors];
}

function routesOf({ routes, parameters }: Resource): readonly ApiRoute[] {
  return parameters === undefined ? routes : routes.map(route => ({ ...route, parameters }));
}

function familyRoute(
  family: FamilyId,
  method: Method,
  path: string,
  current: string,
  index: number,
  infix = 'route',
): ApiRoute {
  return {
    method,
    path,
    id: `${family}-${infix}-${index + 1}-${method.toLowerCase()}`,
    access: method === 'GET' ? 'families:read' : 'families:edit',
    summary: `Answered by the owner's handler for ${family}`,
    query: {},
    body: method === 'GET' || method === 'DELETE' ? null : 'any',
    answer: { kind: 'family' },
    handler: { kind: 'family', family, route: current },
  };
}

/** By the list of bindings that a host has. */
const schemas = new WeakMap<BindingRegistry, Schemas>();

/** The schemas of a host that has these bindings, by name. */
export function schemasOf(registry: BindingRegistry): Schemas {
  const known = schemas.get(registry);
  if (known !== undefined) return known;
  const bindings =
    registry === REGISTRY ? BINDINGS : { ...BINDINGS, schema: { ...BINDINGS.schema, ...bindingsOf(registry.named) } };
  const all: readonly NamedSchema[] = [...RESOURCES.flatMap(namedSchemas), ERROR, PAGE_INFO, FAILURE, bindings];
  const made = Object.fromEntries(all.map(({ name, schema }): [string, JsonSchema] => [name, schema]));
  schemas.set(registry, made);
  return made;
}

function namedSchemas({ routes, schemas: more = [] }: Resource): NamedSchema[] {
  const ofRoutes = routes.flatMap(({ answer, body }) => [
    ...(body === null || typeof body === 'string' ? [] : [body]),
    ...('schema' in answer ? [answer.schema] : []),
  ]);
  return [...more, ...ofRoutes];
}
