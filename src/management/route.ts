/** One row of the table of routes. */

import type { JsonSchema } from '../quotas/schema/schema.js';
import type { Context } from './context.js';
import type { FamilyId, Method } from './deprecations/deprecations.js';
import type { Reply } from './http/envelope.js';
import { ApiError } from './http/envelope.js';
import type { Permission } from './permissions.js';
import type { Bodies, BodyName, ResultName } from './schemas.js';
import { isBody, problems } from './validator.js';

/** `public` asks for no token, `token` for any that is valid. */
export type Access = Permission | 'public' | 'token';

export type Answer =
  | { readonly kind: 'one'; readonly schema: ResultName; readonly status: 200 | 201 }
  /** `paged` is what the query and `result_info` are about. */
  | { readonly kind: 'list'; readonly schema: ResultName; readonly paged: 'pages' | 'cursor' | 'no' }
  /** A body without envelope. */
  | { readonly kind: 'raw'; readonly mediaType: string }
  /** Any result of the owner's handler. */
  | { readonly kind: 'family' };

export interface ApiRoute {
  readonly method: Method;
  /** Pattern below the base path. */
  readonly path: string;
  /** `operationId` of the document; names the route in the audit log. */
  readonly id: string;
  readonly access: Access;
  readonly summary: string;
  /** Parameters of the query besides the ones in `answer`, with their schemas. */
  readonly query: Readonly<Record<string, JsonSchema>>;
  readonly body: BodyName | 'upload' | 'bytes' | 'any' | null;
  /** The handler reads a body of JSON by itself, element by element. */
  readonly readsBody?: true;
  readonly answer: Answer;
  readonly handler: Handler;
}

export type Handler =
  | { readonly kind: 'resource'; readonly run: (context: Context, body: unknown) => Promise<Reply> }
  /** `route` is the pattern that the owner's handler receives. */
  | { readonly kind: 'family'; readonly family: FamilyId; readonly route: string };

interface Spec extends Pick<ApiRoute, 'method' | 'path' | 'id' | 'access' | 'summary' | 'answer'> {
  readonly query?: ApiRoute['query'];
}

/** A route without a body, or one whose handler reads an upload or bytes itself. */
export function route(
  spec: Spec,
  run: (context: Context) => Promise<Reply>,
  body: 'upload' | 'bytes' | null = null,
): ApiRoute {
  return { query: {}, ...spec, body, handler: { kind: 'resource', run } };
}

/** A route with a body of JSON, which reaches the handler only when it fits the schema. */
export function routeWithBody<N extends BodyName>(
  spec: Spec,
  schema: N,
  run: (context: Context, body: Bodies[N]) => Promise<Reply>,
): ApiRoute {
  const checked = async (context: Context, body: unknown): Promise<Reply> => {
    const { bindings } = context.services;
    if (!isBody(schema, body, bindings)) {
      const [problem = 'it does not fit'] = problems(schema, body, bindings);
      throw new ApiError('BODY_INVALID', problem);
    }
    return run(context, body);
  };
  return { query: {}, ...spec, body: schema, handler: { kind: 'resource', run: checked } };
}

/** A route with a body of JSON that may be long: its handler reads and checks it. */
export function routeWithLongBody(spec: Spec, schema: BodyName, run: (context: Context) => Promise<Reply>): ApiRoute {
  return { query: {}, ...spec, body: schema, readsBody: true, handler: { kind: 'resource', run } };
}

/** The query parameters of lists with pages. */
export function pageParameters(paged: 'pages' | 'cursor' | 'no'): Readonly<Record<string, JsonSchema>> {
  if (paged === 'no') return {};
  const perPage = { type: 'integer', minimum: 1, maximum: 1000, default: 100 };
  if (paged === 'cursor') return { per_page: perPage, cursor: { type: 'string', pattern: '^[0-9a-f-]{1,64}$' } };
  return { page: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 }, per_page: perPage };
}
