/** One row of the table of routes, and the module of a resource, which has some of them. */

import { type JsonSchema, type Static, text } from '../quotas/schema/schema.js';
import type { Context } from './context.js';
import type { FamilyId, Method } from './deprecations/deprecations.js';
import { ApiError, type Reply } from './http/envelope.js';
import type { PathParameters } from './http/parameters.js';
import type { Permission } from './permissions.js';
import type { NamedSchema } from './schemas.js';
import { isBody, problems } from './validator.js';

/** `public` asks for no token, `token` for any that is valid. */
export type Access = Permission | 'public' | 'token';

interface OneAnswer<T = unknown> {
  readonly kind: 'one';
  readonly schema: NamedSchema<T>;
  readonly status: 200 | 201;
}

type Paged = 'pages' | 'cursor' | 'no';

interface ListAnswer<T = unknown, P = Paged> {
  readonly kind: 'list';
  readonly schema: NamedSchema<T>;
  /** The subjects of the query and of `result_info`. */
  readonly paged: P;
}

export type Answer =
  | OneAnswer
  | ListAnswer
  /** A body without envelope. */
  | { readonly kind: 'raw'; readonly mediaType: string }
  /** Any result of the owner's handler. */
  | { readonly kind: 'family' };

/** The result that a handler returns for the answer. */
type ResultOf<A> = A extends OneAnswer<infer T> ? T : A extends ListAnswer<infer T> ? readonly T[] : null;

type Query = Readonly<Record<string, JsonSchema>>;

/** The values that the router has checked by these schemas. */
export type QueryOf<Q> = { readonly [Name in keyof Q]?: Static<Q[Name]> };

/** With the parameters that the answer brings along. */
type QueryFor<Q, A> = QueryOf<Q> &
  QueryOf<A extends ListAnswer<unknown, infer P> ? (P extends 'cursor' ? typeof CURSOR : object) : object>;

export interface ApiRoute {
  readonly method: Method;
  /** Pattern below the base path. */
  readonly path: string;
  /** `operationId` of the document; names the route in the audit log. */
  readonly id: string;
  readonly access: Access;
  readonly summary: string;
  /** Parameters of the path that only its resource has. */
  readonly parameters?: PathParameters;
  /** Parameters of the query besides the ones of `answer`, with their schemas. */
  readonly query: Query;
  readonly body: NamedSchema | 'upload' | 'bytes' | 'any' | null;
  /** The handler reads a body of JSON by itself, element by element. */
  readonly readsBody?: true;
  readonly answer: Answer;
  readonly handler: Handler;
}

/** The module of a resource. */
export interface Resource {
  readonly routes: readonly ApiRoute[];
  /** Parameters that only the paths of its routes have. */
  readonly parameters?: PathParameters;
  /** Schemas that the document has besides the schemas of its routes. */
  readonly schemas?: readonly NamedSchema[];
}

export type Handler =
  | { readonly kind: 'resource'; readonly run: (context: Context<never>, body: unknown) => Promise<Reply> }
  /** `route` is the pattern that the owner's handler receives. */
  | { readonly kind: 'family'; readonly family: FamilyId; readonly route: string };

export const ZONE_PATH = '/zones/{zone_id}';
export const ACCOUNT_PATH = '/accounts/{account_id}';
export const FUNCTION_PATH = `${ACCOUNT_PATH}/functions/{function_name}`;

export function one<T>(schema: NamedSchema<T>): OneAnswer<T> {
  return { kind: 'one', schema, status: 200 };
}

export function created<T>(schema: NamedSchema<T>): OneAnswer<T> {
  return { kind: 'one', schema, status: 201 };
}

export function many<T>(schema: NamedSchema<T>): ListAnswer<T, 'pages'>;
export function many<T, P extends Paged>(schema: NamedSchema<T>, paged: P): ListAnswer<T, P>;
export function many<T>(schema: NamedSchema<T>, paged: Paged = 'pages'): ListAnswer<T> {
  return { kind: 'list', schema, paged };
}

interface Spec<A, Q> extends Pick<ApiRoute, 'method' | 'path' | 'id' | 'access' | 'summary'> {
  readonly query?: Q;
  readonly answer: A;
}

/** A route without a body, or one whose handler reads an upload or bytes itself. The handler does not compile unless its result is what the answer says. */
export function route<A extends Answer, Q extends Query = Record<never, JsonSchema>>(
  spec: Spec<A, Q>,
  run: (context: Context<QueryFor<Q, A>>) => Promise<Reply<ResultOf<A>>>,
  body: 'upload' | 'bytes' | null = null,
): ApiRoute {
  return { query: {}, ...spec, body, handler: { kind: 'resource', run } };
}

/** A route with a body of JSON, which reaches the handler only when it fits the schema. */
export function routeWithBody<A extends Answer, T>(
  spec: Spec<A, Query>,
  schema: NamedSchema<T>,
  run: (context: Context, body: T) => Promise<Reply<ResultOf<A>>>,
): ApiRoute {
  const checked = async (context: Context, body: unknown): Promise<Reply> => {
    const { schemas } = context.services;
    if (!isBody(schemas, schema, body)) {
      const [problem = 'it does not fit'] = problems(schemas, schema, body);
      throw new ApiError('BODY_INVALID', problem);
    }
    return run(context, body);
  };
  return { query: {}, ...spec, body: schema, handler: { kind: 'resource', run: checked } };
}

/** A route with a body of JSON that may be long: its handler reads and checks it. */
export function routeWithLongBody<A extends Answer>(
  spec: Spec<A, Query>,
  schema: NamedSchema,
  run: (context: Context) => Promise<Reply<ResultOf<A>>>,
): ApiRoute {
  return { query: {}, ...spec, body: schema, readsBody: true, handler: { kind: 'resource', run } };
}

const CURSOR = { cursor: text({ pattern: '^[0-9a-f-]{1,64}$' }) };

/** The query parameters of lists with pages. */
export function pageParameters(paged: Paged): Readonly<Record<string, JsonSchema>> {
  if (paged === 'no') return {};
  const perPage = { type: 'integer', minimum: 1, maximum: 1000, default: 100 };
  if (paged === 'cursor') return { per_page: perPage, ...CURSOR };
  return { page: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 }, per_page: perPage };
}
