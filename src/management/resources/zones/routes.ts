/** Routes of a zone: under which URLs a function answers. */

import { randomBytes } from 'node:crypto';
import { DEFAULT_ROUTE_MODE, ROUTE_MODE, ROUTE_PATTERN } from '../../../config-schema/function-shapes.js';
import { compilePattern } from '../../../hostnames/route-pattern.js';
import type { RouteMode } from '../../../quotas/requests/admission.js';
import { object, type Schema } from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, param, zoneOf } from '../../context.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import type { FunctionTriggers } from '../../ports.js';
import { created, many, one, type Resource, route, routeWithBody, ZONE_PATH } from '../../route.js';
import { body, DELETED, named, shortText, string, type ValueOf, zoneId } from '../../schemas.js';
import type { RecordChange, Stored } from '../../state/records.js';
import type { RouteRecord } from '../../state/stores.js';

const routeMode: Schema<RouteMode> = { ...ROUTE_MODE, default: DEFAULT_ROUTE_MODE };

const ROUTE_INPUT = body(
  'RouteInput',
  object({ pattern: ROUTE_PATTERN, function: shortText(63), 'mode?': routeMode }),
  { pattern: 'example.com/api/*', function: 'hello', mode: 'fail-open' },
);
const ROUTE = named('Route', object({ id: zoneId, pattern: string, function: string, mode: ROUTE_MODE }));

export const ROUTES_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ZONE_PATH}/routes`, id: 'route-list', access: 'functions:read', summary: 'Routes of a zone', answer: many(ROUTE) }, listRoutes),
    routeWithBody({ method: 'POST', path: `${ZONE_PATH}/routes`, id: 'route-create', access: 'functions:edit', summary: 'Attach a function to a URL pattern', answer: created(ROUTE) }, ROUTE_INPUT, createRoute),
    route({ method: 'GET', path: `${ZONE_PATH}/routes/{route_id}`, id: 'route-get', access: 'functions:read', summary: 'A route', answer: one(ROUTE) }, getRoute),
    routeWithBody({ method: 'PUT', path: `${ZONE_PATH}/routes/{route_id}`, id: 'route-replace', access: 'functions:edit', summary: 'Replace a route', answer: one(ROUTE) }, ROUTE_INPUT, replaceRoute),
    route({ method: 'DELETE', path: `${ZONE_PATH}/routes/{route_id}`, id: 'route-delete', access: 'functions:edit', summary: 'Delete a route', answer: one(DELETED) }, deleteRoute),
  ],
};

async function listRoutes(context: Context): Promise<ListReply<typeof ROUTE>> {
  const { items, info } = await context.services.stores.routes.page([zoneOf(context).id], pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getRoute(context: Context): Promise<OneReply<typeof ROUTE>> {
  const { value, etag } = await find(context);
  return { result: shown(value), etag };
}

async function createRoute(context: Context, body: ValueOf<typeof ROUTE_INPUT>): Promise<OneReply<typeof ROUTE>> {
  const { stores, limits } = context.services;
  const zone = zoneOf(context);
  return inZone(context, [body.function], async () => {
    const count = await stores.routes.count(zone.id);
    if (count >= limits.routesPerZone) {
      throw new ApiError('LIMIT_EXCEEDED', `The zone has ${count} routes, at most ${limits.routesPerZone} are allowed`);
    }
    return write(context, { ...input(context, body), id: randomBytes(16).toString('hex'), zone: zone.id }, undefined);
  });
}

async function replaceRoute(context: Context, body: ValueOf<typeof ROUTE_INPUT>): Promise<OneReply<typeof ROUTE>> {
  const { value } = await find(context);
  return inZone(context, [body.function, value.function], async () => {
    const before = await find(context);
    requireMatch(context.request.headers, before.etag);
    if (before.value.function !== value.function)
      throw new ApiError('PRECONDITION_FAILED', 'The route has changed: read it again');
    return write(context, { ...input(context, body), id: value.id, zone: value.zone }, before.value);
  });
}

async function deleteRoute(context: Context): Promise<OneReply<typeof DELETED>> {
  const { stores, functionStore } = context.services;
  const { account } = context;
  const { value } = await find(context);
  return inZone(context, [value.function], async () => {
    const before = await find(context);
    requireMatch(context.request.headers, before.etag);
    const route = before.value;
    if (route.function !== value.function)
      throw new ApiError('PRECONDITION_FAILED', 'The route has changed: read it again');
    const triggers = await functionStore.triggers(account, route.function);
    await functionStore.setTriggers(account, route.function, without(triggers, route.pattern), () =>
      context.commit(removal(context, route)),
    );
    return { result: { id: route.id } };
  });

  function removal({ services }: Context, route: RouteRecord): RecordChange[] {
    return [
      services.stores.routes.del(route.zone, route.id),
      stores.routePatterns.del(route.zone, encodeURIComponent(route.pattern)),
      stores.functionRoutes.del(account, route.function, route.id),
    ];
  }
}

async function write(
  context: Context,
  route: RouteRecord,
  before: RouteRecord | undefined,
): Promise<OneReply<typeof ROUTE>> {
  const { stores, functionStore } = context.services;
  const { account } = context;
  // The function must be there; it cannot go while its lock is held.
  await functionStore.get(account, route.function);
  const patternKey = encodeURIComponent(route.pattern);
  const taken = await stores.routePatterns.get(route.zone, patternKey);
  if (taken !== undefined && taken.value.id !== route.id) {
    throw new ApiError('ALREADY_EXISTS', `Another route has the pattern ${route.pattern}: ${taken.value.id}`);
  }
  await requireRoomForZone(context, route);
  const put = stores.routes.put([route.zone, route.id], route);
  const operations = [
    ...(before === undefined
      ? []
      : [
          stores.routePatterns.del(before.zone, encodeURIComponent(before.pattern)),
          stores.functionRoutes.del(account, before.function, before.id),
        ]),
    put.operation,
    stores.routePatterns.put([route.zone, patternKey], { id: route.id }).operation,
    stores.functionRoutes.put([account, route.function, route.id], route).operation,
  ];
  const commit = () => context.commit(operations);
  const current = await functionStore.triggers(account, route.function);
  const moves = before !== undefined && before.function !== route.function;
  const kept = before === undefined || moves ? current : without(current, before.pattern);
  const triggers = { ...kept, routes: [...kept.routes, { pattern: route.pattern, mode: route.mode }] };
  if (moves) {
    const losing = without(await functionStore.triggers(account, before.function), before.pattern);
    await functionStore.setTriggers(account, before.function, losing, () =>
      functionStore.setTriggers(account, route.function, triggers, commit),
    );
  } else {
    await functionStore.setTriggers(account, route.function, triggers, commit);
  }
  return { result: shown(route), etag: put.etag };
}

async function requireRoomForZone(context: Context, route: RouteRecord): Promise<void> {
  const { stores, limits } = context.services;
  const zones = new Set([route.zone]);
  for await (const other of stores.functionRoutes.below(context.account, route.function)) zones.add(other.zone);
  if (zones.size > limits.zonesPerFunction) {
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The function ${route.function} would have routes in ${zones.size} zones, at most ${limits.zonesPerFunction} are allowed`,
    );
  }
}

function input(
  context: Context,
  body: ValueOf<typeof ROUTE_INPUT>,
): Pick<RouteRecord, 'pattern' | 'function' | 'mode'> {
  const pattern = checkPattern(body.pattern, zoneOf(context).name);
  context.services.zoneOwners.checkRoute(context.principal, context.account, pattern);
  return {
    pattern,
    function: body.function,
    mode: body.mode ?? DEFAULT_ROUTE_MODE,
  };
}

/**
 * `example.com/api/*`, `*.example.com/*`, with or without a scheme; the host must be in the zone.
 *
 * @param place of the pattern in the body
 */
export function checkPattern(text: string, zone: string, place = '/pattern'): string {
  const { name, hostKind } = compilePattern(text);
  const inside = name === zone || name.endsWith(`.${zone}`);
  // `*example.com` reaches `notexample.com` too.
  if (inside && (hostKind === 'exact' || hostKind === 'below')) return text;
  throw new ApiError(
    'BODY_INVALID',
    `${place} ${JSON.stringify(text)} must begin with a host in the zone ${zone}, such as ${zone}/* or *.${zone}/*`,
  );
}

function without(triggers: FunctionTriggers, pattern: string): FunctionTriggers {
  return { ...triggers, routes: triggers.routes.filter(route => route.pattern !== pattern) };
}

async function find(context: Context): Promise<Stored<RouteRecord>> {
  const id = param(context, 'route_id');
  const stored = await context.services.stores.routes.get(zoneOf(context).id, id);
  if (stored === undefined) throw new ApiError('NOT_FOUND', `The zone has no route ${id}`);
  return stored;
}

/** One writer of the zone and of each function concerned, always locked in this order. */
async function inZone<T>(context: Context, functions: readonly string[], work: () => Promise<T>): Promise<T> {
  const { stores } = context.services;
  const zone = zoneOf(context);
  const names = [...new Set(functions)].sort();
  const keys = [`zone/${zone.id}`, ...names.map(name => `function/${context.account}/${name}`)];
  return stores.lock.runAll(keys, async () => {
    if (!(await stores.zones.has(zone.id))) throw new ApiError('NOT_FOUND', 'There is no such zone');
    return work();
  });
}

function shown({ zone, ...route }: RouteRecord): ValueOf<typeof ROUTE> {
  return route;
}
