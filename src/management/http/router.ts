/** From a method and a path to a route of the table. */

import type { PageValues } from '../context.js';
import { type ApiRoute, pageParameters } from '../route.js';
import { compileQuery } from '../validator.js';
import { ApiError } from './envelope.js';
import { parameterProblem } from './parameters.js';
import { type PathParams, PathTable, splitPath } from './path-table.js';

export interface Routed {
  readonly route: ApiRoute;
  readonly params: PathParams;
  readonly segments: readonly string[];
}

/** The values for lists without pages. */
const NO_QUERY: PageValues = { page: 1, per_page: 100 };

export class ApiRouter {
  readonly #table = new PathTable<ApiRoute>();
  readonly #basePath: string;
  /** Compiled when a route is first asked. */
  readonly #queries = new Map<ApiRoute, ReturnType<typeof compileQuery>>();

  constructor(routes: readonly ApiRoute[], basePath: string) {
    for (const route of routes) this.#table.add(route.path, route);
    this.#basePath = basePath;
  }

  /** @throws ApiError ROUTE_UNKNOWN, METHOD_NOT_ALLOWED (with Allow), PATH_INVALID */
  find(method: string, pathname: string): Routed {
    const segments = this.#segments(pathname);
    const matches = segments === null ? [] : this.#table.find(segments);
    if (segments === null || matches.length === 0)
      throw new ApiError('ROUTE_UNKNOWN', `There is no route ${pathname.slice(0, 500)}`);
    // HEAD is GET without the body (RFC 9110, 9.3.2).
    const wanted = method === 'HEAD' ? 'GET' : method;
    const match = matches.find(({ value }) => value.method === wanted);
    if (match === undefined) {
      const methods = matches.map(({ value }) => value.method);
      const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
      throw new ApiError('METHOD_NOT_ALLOWED', `The route does not answer ${method}; allowed: ${allow}`, {
        headers: { allow },
      });
    }
    for (const [name, value] of Object.entries(match.params)) {
      const problem = parameterProblem(name, value, match.value.parameters);
      if (problem !== null) throw new ApiError('PATH_INVALID', problem);
    }
    return { route: match.value, params: match.params, segments };
  }

  /** @throws ApiError QUERY_INVALID */
  query(route: ApiRoute, search: URLSearchParams): PageValues {
    if (route.answer.kind === 'family') return NO_QUERY;
    const given = new Map<string, string>();
    for (const [name, value] of search) {
      if (given.has(name))
        throw new ApiError('QUERY_INVALID', `The query parameter ${JSON.stringify(name)} is given twice`);
      given.set(name, value);
    }
    const values: Record<string, string> = Object.fromEntries(given);
    const checked = this.#validator(route)(values);
    if ('problems' in checked) {
      const [problem = 'is not valid'] = checked.problems;
      throw new ApiError('QUERY_INVALID', `Query: ${problem.replace('the body', 'it')}`);
    }
    return { ...NO_QUERY, ...checked.query };
  }

  #validator(route: ApiRoute): ReturnType<typeof compileQuery> {
    let validate = this.#queries.get(route);
    if (validate === undefined) {
      const paged = route.answer.kind === 'list' ? route.answer.paged : 'no';
      validate = compileQuery({ ...pageParameters(paged), ...route.query });
      this.#queries.set(route, validate);
    }
    return validate;
  }

  /** null: not below the base path. */
  #segments(pathname: string): string[] | null {
    if (!pathname.startsWith(`${this.#basePath}/`)) return null;
    try {
      return splitPath(pathname.slice(this.#basePath.length)).map(decodeURIComponent);
    } catch {
      throw new ApiError('PATH_INVALID', 'The path has a percent-encoding that is not valid UTF-8');
    }
  }
}
