/** The steps of every request, in this order: date, framing, route, token, end of life, permission, scope, body, handler. */

import { chunksOf } from '../bindings/bodies/external-stream.js';
import type { ClientBodies } from '../bindings/bodies/given-bodies.js';
import { tellOption } from '../quotas/option-functions.js';
import type { Context, ManagementParts } from './context.js';
import { parseDay } from './deprecations/deprecation-timeline.js';
import {
  announce,
  announcements,
  refuseGone,
  type ScheduledRequest,
  shapeErrors,
  shapeResult,
} from './deprecations/schedule-effects.js';
import { toApiError } from './host-errors.js';
import { readJson } from './http/body.js';
import { ApiError, envelopeResponse, failure, type Reply, success } from './http/envelope.js';
import { isNotModified } from './http/preconditions.js';
import type { ApiRouter, Routed } from './http/router.js';
import type { RateLimits } from './rate-limits.js';
import { answerFamily } from './resources/families.js';
import type { ApiRoute } from './route.js';
import { commit } from './state/records.js';
import type { ZoneRecord } from './state/stores.js';
import { mayActOn, type Principal, requirePermission } from './state/tokens.js';

export type DatePin = 'off' | 'ahead' | 'any';

export interface PipelineParts {
  readonly services: ManagementParts;
  readonly router: ApiRouter;
  readonly rateLimits: RateLimits;
  readonly basePath: string;
  readonly datePin: DatePin;
  readonly onError: (error: unknown) => void;
  /** How bodies of answers are given. */
  readonly given: ClientBodies;
}

/** The principal of requests to public routes. */
const NOBODY: Principal = { tokenId: 'none', tokenName: 'none', account: '', permissions: new Set(), expiresOn: null };

const DATE_HEADER = 'edge-api-date';
const DAY_MS = 86_400_000;

export class Pipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async answer(request: Request, clientAddress: string | null): Promise<Response> {
    // Grows more exact as the request is understood, so that an error is shaped and announced as its route's answers are.
    let scheduled: ScheduledRequest = {
      rows: [],
      params: {},
      at: Date.now(),
      basePath: this.#parts.basePath,
    };
    let response: Response;
    try {
      // The option may fail, which is an answer like others.
      scheduled = { ...scheduled, at: this.#parts.services.now().getTime() };
      scheduled = { ...scheduled, at: this.#date(request, scheduled.at) };
      this.#declineDoubleFraming(request, scheduled.at);
      const url = new URL(request.url);
      const routed = this.#parts.router.find(request.method, url.pathname);
      const rows = this.#parts.services.schedule.rowsOf(routed.route.method, routed.route.path);
      scheduled = { ...scheduled, rows, params: routed.params };
      response = await this.#handle(request, url, routed, scheduled, clientAddress);
    } catch (thrown) {
      const error = toApiError(thrown, this.#parts.services.bindings);
      if (error.code === 'INTERNAL') tellOption(this.#parts.onError, thrown);
      const headers = new Headers(error.headers);
      announce(scheduled, headers);
      response = envelopeResponse(failure(shapeErrors(scheduled, error)), error.status, headers);
    }
    if (request.method !== 'HEAD') return response;
    // The unread body of a stored value would be kept for its reader.
    await response.body?.cancel();
    return new Response(null, { status: response.status, headers: response.headers });
  }

  async #handle(
    request: Request,
    url: URL,
    routed: Routed,
    scheduled: ScheduledRequest,
    clientAddress: string | null,
  ): Promise<Response> {
    const { services, router } = this.#parts;
    const { route, params, segments } = routed;
    const principal = route.access === 'public' ? NOBODY : await this.#authenticate(request, clientAddress);
    refuseGone(scheduled);
    if (route.access !== 'public' && route.access !== 'token') requirePermission(principal, route.access);
    const query = router.query(route, url.searchParams);
    const { account, zone } = await scopeOf(segments, principal, services);
    const status = route.answer.kind === 'one' ? route.answer.status : 200;
    const context: Context = {
      request,
      params,
      query,
      principal,
      account,
      zone,
      at: scheduled.at,
      services,
      commit: async (operations, changed) => {
        // It may have been removed meanwhile, with all of its records: nothing is written that nobody would remove.
        if (changed === undefined && namesAccount(segments)) await checkAccount(account, services);
        const actor = { token_id: principal.tokenId, token_name: principal.tokenName, address: clientAddress };
        const path = url.pathname.slice(this.#parts.basePath.length);
        const action = { method: request.method, path, route: route.id, status };
        const entry = services.audit.append({ account: changed ?? account, actor, action }, services.now());
        await commit(services.stores.storage, [...operations, entry]);
      },
    };
    if (route.handler.kind === 'family') {
      const answered = await answerFamily(context, route.handler.family, route.handler.route);
      const headers = new Headers(answered.headers);
      announce(scheduled, headers);
      return new Response(answered.body, { status: answered.status, statusText: answered.statusText, headers });
    }
    const { bodyBytes, bodyMs } = services.limits;
    const readsJson = route.body !== null && route.readsBody !== true && typeof route.body !== 'string';
    const body = readsJson ? await readJson(request, bodyBytes, bodyMs) : undefined;
    // The router has checked the query by the schemas of the route, from which the handler has the type.
    const reply = await route.handler.run(context as Context<never>, body);
    return respond(request, route, scheduled, reply, status, this.#parts.given);
  }

  async #authenticate(request: Request, clientAddress: string | null): Promise<Principal> {
    const { services, rateLimits } = this.#parts;
    let principal: Principal;
    try {
      principal = await services.tokens.authenticate(request.headers.get('authorization'), services.now().getTime());
    } catch (error) {
      if (error instanceof ApiError) await rateLimits.failure(clientAddress);
      throw error;
    }
    await rateLimits.request(principal.tokenId);
    return principal;
  }

  /** The instant that the schedule is read at. @throws ApiError HEADER_INVALID */
  #date(request: Request, now: number): number {
    const header = request.headers.get(DATE_HEADER);
    if (header === null) return now;
    if (this.#parts.datePin === 'off') {
      throw new ApiError('HEADER_INVALID', 'Edge-Api-Date: this host does not allow a request to choose its date');
    }
    let pinned: number;
    try {
      pinned = parseDay(header, 'Edge-Api-Date');
    } catch (error) {
      throw new ApiError('HEADER_INVALID', error instanceof Error ? error.message : 'Edge-Api-Date is not a date', {
        cause: error,
      });
    }
    if (this.#parts.datePin === 'ahead' && pinned < now - (now % DAY_MS)) {
      throw new ApiError('HEADER_INVALID', `Edge-Api-Date: this host allows dates from today on, got ${header}`);
    }
    return pinned;
  }

  /** RFC 7230, 3.3.3: a request framed twice may be read differently by a proxy in between. The connection ends. */
  #declineDoubleFraming({ headers }: Request, at: number): void {
    if (!headers.has('transfer-encoding') || !headers.has('content-length')) return;
    if (!this.#parts.services.schedule.isFinished('double-framing', at)) return;
    throw new ApiError('FRAMING_DECLINED', 'A request must not carry both Transfer-Encoding and Content-Length', {
      headers: { connection: 'close' },
    });
  }
}

/**
 * The account that the path is about. A zone of another account is answered like one that does not exist.
 * @throws ApiError PERMISSION, NOT_FOUND
 */
async function scopeOf(
  segments: readonly string[],
  principal: Principal,
  services: ManagementParts,
): Promise<{ readonly account: string; readonly zone: ZoneRecord | null }> {
  const [root, id] = segments;
  if (id !== undefined && namesAccount(segments)) {
    if (!mayActOn(principal, id))
      throw new ApiError('PERMISSION', `The token is for another account than ${JSON.stringify(id)}`);
    await checkAccount(id, services);
    return { account: id, zone: null };
  }
  if (id !== undefined && root === 'zones') {
    const zone = (await services.stores.zones.get(id))?.value;
    if (zone === undefined || !mayActOn(principal, zone.account))
      throw new ApiError('NOT_FOUND', `There is no zone ${id}`);
    return { account: zone.account, zone };
  }
  return { account: principal.account, zone: null };
}

function namesAccount([root, id]: readonly string[]): boolean {
  return id !== undefined && (root === 'accounts' || root === 'organizations');
}

/** @throws ApiError NOT_FOUND */
async function checkAccount(id: string, { functions }: ManagementParts): Promise<void> {
  if (!(await functions.hasAccount(id))) throw new ApiError('NOT_FOUND', `There is no account ${JSON.stringify(id)}`);
}

function respond(
  request: Request,
  route: ApiRoute,
  scheduled: ScheduledRequest,
  reply: Reply,
  status: number,
  { bodies, of }: ClientBodies,
): Response {
  const headers = new Headers();
  announce(scheduled, headers);
  if (reply.etag !== undefined) headers.set('etag', `"${reply.etag}"`);
  if (route.method === 'GET' && isNotModified(request.headers, reply.etag))
    return new Response(null, { status: 304, headers });
  if (reply.raw !== undefined) {
    // A form brings its own type, with the boundary.
    if (!(reply.raw instanceof FormData)) {
      headers.set('content-type', reply.mediaType ?? 'application/json; charset=utf-8');
      // Values are a customer's own: no browser is to find a page in them.
      headers.set('x-content-type-options', 'nosniff');
    }
    const { raw } = reply;
    return new Response(raw instanceof ReadableStream ? bodies.stream(of, chunksOf(raw), false) : raw, {
      status,
      headers,
    });
  }
  const shaped = { ...reply, result: shapeResult(scheduled, reply.result) };
  return envelopeResponse(success(shaped, announcements(scheduled)), status, headers);
}
