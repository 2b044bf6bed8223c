/** The OpenAPI 3.1 document of the API on a date, made from the tables of routes, schemas, parameters and deprecations. */

import type { JsonSchema } from '../quotas/schema/schema.js';
import { endsRoutes, isFinished, type Schedule, type ScheduledRow } from './deprecations/deprecation-timeline.js';
import { FUNCTION_METADATA } from './function-schemas.js';
import { parameterSchema } from './http/parameters.js';
import { parameterOf, splitPath } from './http/path-table.js';
import { type ApiRoute, pageParameters } from './route.js';
import { ERROR, FAILURE, PAGE_INFO, ref } from './schemas.js';
import type { Schemas } from './validator.js';

export interface DocumentOptions {
  readonly schemas: Schemas;
  readonly routes: readonly ApiRoute[];
  readonly schedule: Schedule;
  readonly basePath: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const json = (schema: JsonSchema): JsonSchema => ({ 'application/json': { schema } });

export function openapiDocument({ schemas, routes, schedule, basePath, at }: DocumentOptions): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = route.path.replace('...}', '}');
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operation(route, schedule.rowsOf(route.method, route.path), at),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Management API',
      version: '1',
      description:
        'Zones, DNS records, functions, buckets and key-value namespaces of a host. Routes that end carry `deprecated` and `x-sunset`.',
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'An API token of an account' } },
      schemas,
    },
  };
}

function operation(route: ApiRoute, rows: readonly ScheduledRow[], at: number): JsonSchema {
  const [ending] = rows.filter(endsRoutes).sort((a, b) => a.endsAt - b.endsAt);
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [tagOf(route)],
    ...(ending === undefined
      ? {}
      : { deprecated: true, 'x-sunset': ending.endOfLife, 'x-deprecation': ending.id, description: describe(ending) }),
    ...(route.access === 'public' ? { security: [] } : {}),
    ...(route.access.includes(':') ? { 'x-permission': route.access } : {}),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...requestBody(route),
    responses: ending !== undefined && isFinished(ending, at) ? gone() : responses(route),
  };
}

function describe({ endOfLife, summary, replacement }: ScheduledRow): string {
  return `End of life ${endOfLife}: ${summary}. Replacement: ${replacement?.text ?? 'none stated'}.`;
}

/** The resource: what follows the account or zone. */
function tagOf(route: ApiRoute): string {
  const segments = splitPath(route.path).filter(segment => parameterOf(segment) === null);
  return segments[1] ?? segments[0] ?? 'api';
}

function pathParameters(route: ApiRoute): JsonSchema[] {
  return splitPath(route.path).flatMap(segment => {
    const parameter = parameterOf(segment);
    if (parameter === null) return [];
    const { schema, example } = parameterSchema(parameter.name, route.parameters);
    return [{ name: parameter.name, in: 'path', required: true, schema, example }];
  });
}

function queryParameters(route: ApiRoute): JsonSchema[] {
  const paged = route.answer.kind === 'list' ? route.answer.paged : 'no';
  return Object.entries({ ...pageParameters(paged), ...route.query }).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
  }));
}

function requestBody(route: ApiRoute): JsonSchema {
  if (route.body === null) return {};
  if (route.body === 'bytes') return { requestBody: { required: true, content: { 'application/octet-stream': {} } } };
  if (route.body === 'any') return { requestBody: { content: { '*/*': {} } } };
  if (route.body !== 'upload') return { requestBody: { required: true, content: json(ref(route.body)) } };
  const schema = {
    type: 'object',
    properties: { metadata: ref(FUNCTION_METADATA) },
    required: ['metadata'],
    additionalProperties: { type: 'string', description: 'A module: a file part named as the module' },
  };
  const encoding = { metadata: { contentType: 'application/json' } };
  return { requestBody: { required: true, content: { 'multipart/form-data': { schema, encoding } } } };
}

function responses(route: ApiRoute): JsonSchema {
  const failure = { default: { description: 'An error', content: json(ref(FAILURE)) } };
  const { answer } = route;
  switch (answer.kind) {
    case 'one':
      return { [answer.status]: ok(envelope(ref(answer.schema))), ...failure };
    case 'list':
      return { 200: ok(envelope({ type: 'array', items: ref(answer.schema) }, answer.paged !== 'no')), ...failure };
    case 'raw':
      return { 200: { description: 'Success', content: { [answer.mediaType]: {} } }, ...failure };
    case 'family':
      return { '2XX': { description: "What the owner's handler answers" }, ...failure };
  }
}

function gone(): JsonSchema {
  return { 410: { description: 'Gone', content: json(ref(FAILURE)) } };
}

function ok(schema: JsonSchema): JsonSchema {
  return { description: 'Success', content: json(schema) };
}

function envelope(result: JsonSchema, paged = false): JsonSchema {
  const base = {
    result,
    success: { const: true },
    errors: { type: 'array', maxItems: 0 },
    messages: { type: 'array', items: ref(ERROR) },
  };
  return {
    type: 'object',
    properties: paged ? { ...base, result_info: ref(PAGE_INFO) } : base,
    required: ['result', 'success', 'errors', 'messages', ...(paged ? ['result_info'] : [])],
    additionalProperties: false,
  };
}
