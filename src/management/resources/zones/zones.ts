/** Zones: the domains of an account. */

import { randomBytes } from 'node:crypto';
import { object } from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, zoneOf } from '../../context.js';
import { checkName } from '../../dns/names.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import { created, many, one, type QueryOf, type Resource, route, routeWithBody, ZONE_PATH } from '../../route.js';
import { body, DELETED, dateTime, named, shortText, string, type ValueOf, zoneId } from '../../schemas.js';
import type { ZoneRecord } from '../../state/stores.js';
import { mayActOn } from '../../state/tokens.js';

const ZONE_CREATE = body('ZoneCreate', object({ name: shortText(255), account: object({ id: shortText(63) }) }), {
  name: 'example.com',
  account: { id: 'acme' },
});
const ZONE = named(
  'Zone',
  object({
    id: zoneId,
    name: string,
    account: object({ id: shortText(63) }),
    created_on: dateTime,
    modified_on: dateTime,
  }),
);

const ZONE_QUERY = { name: shortText(255) };

export const ZONES_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: '/zones', id: 'zone-list', access: 'zones:read', summary: 'Zones that the token may see', query: ZONE_QUERY, answer: many(ZONE) }, listZones),
    routeWithBody({ method: 'POST', path: '/zones', id: 'zone-create', access: 'zones:edit', summary: 'Add a zone to an account', answer: created(ZONE) }, ZONE_CREATE, createZone),
    route({ method: 'GET', path: ZONE_PATH, id: 'zone-get', access: 'zones:read', summary: 'A zone with its name', answer: one(ZONE) }, getZone),
    route({ method: 'DELETE', path: ZONE_PATH, id: 'zone-delete', access: 'zones:edit', summary: 'Delete a zone with its records and settings', answer: one(DELETED) }, deleteZone),
  ],
};

async function listZones(context: Context<QueryOf<typeof ZONE_QUERY>>): Promise<ListReply<typeof ZONE>> {
  const { stores } = context.services;
  const { name } = context.query;
  const { items, info } = await stores.zones.page(
    [],
    pageQuery(context),
    zone => mayActOn(context.principal, zone.account) && (name === undefined || zone.name === name),
  );
  return { result: items.map(shown), resultInfo: info };
}

async function createZone(context: Context, body: ValueOf<typeof ZONE_CREATE>): Promise<OneReply<typeof ZONE>> {
  const { stores, functions, limits, now, zoneOwners } = context.services;
  const account = body.account.id;
  if (!mayActOn(context.principal, account)) {
    throw new ApiError('PERMISSION', `The token is for another account than ${JSON.stringify(account)}`);
  }
  if (!(await functions.hasAccount(account))) {
    throw new ApiError('BODY_INVALID', `/account/id: there is no account ${JSON.stringify(account)}`);
  }
  const checked = checkName(body.name, { wildcard: false });
  if (!checked.ok) throw new ApiError('BODY_INVALID', `/name ${JSON.stringify(body.name)} ${checked.reason}`);
  const { name } = checked;
  if (!name.includes('.'))
    throw new ApiError('BODY_INVALID', `/name ${JSON.stringify(name)} must have two labels or more`);
  // Asked outside of the lock: the owner's callback may take its time.
  const approved_by = await zoneOwners.approve(context.principal, account, name);
  return stores.lock.run('zones', async () => {
    if (await stores.zoneNames.has(name)) throw new ApiError('ALREADY_EXISTS', `The zone ${name} exists already`);
    const { info } = await stores.zones.page([], { page: 1, perPage: 1 }, zone => zone.account === account);
    if (info.total_count >= limits.zonesPerAccount) {
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The account has ${info.total_count} zones, at most ${limits.zonesPerAccount} are allowed`,
      );
    }
    const time = now().toISOString();
    const id = randomBytes(16).toString('hex');
    const zone: ZoneRecord = { id, name, account, approved_by, created_on: time, modified_on: time };
    const put = stores.zones.put([id], zone);
    zoneOwners.claim(context.principal, account, name, approved_by);
    try {
      await context.commit([put.operation, stores.zoneNames.put([name], { id }).operation], account);
    } catch (error) {
      zoneOwners.release(account, name);
      throw error;
    }
    return { result: shown(zone), etag: put.etag };
  });
}

async function getZone(context: Context): Promise<OneReply<typeof ZONE>> {
  const stored = await context.services.stores.zones.get(zoneOf(context).id);
  if (stored === undefined) throw new ApiError('NOT_FOUND', 'There is no such zone');
  return { result: shown(stored.value), etag: stored.etag };
}

/** With everything in it; routes are refused, since functions answer under them. */
async function deleteZone(context: Context): Promise<OneReply<typeof DELETED>> {
  const { stores, zoneOwners } = context.services;
  const { id, name, account } = zoneOf(context);
  return stores.lock.runAll(['zones', `zone/${id}`], async () => {
    requireMatch(context.request.headers, (await stores.zones.get(id))?.etag);
    const routes = await stores.routes.count(id);
    if (routes > 0) throw new ApiError('IN_USE', `The zone ${name} has ${routes} routes: delete them first`);
    await context.commit([
      stores.zones.del(id),
      stores.zoneNames.del(name),
      stores.dnsSettings.del(id),
      ...(await stores.dnsRecords.delBelow(id)),
      ...(await stores.dnsNames.delBelow(id)),
      ...(await stores.zoneSettings.delBelow(id)),
    ]);
    zoneOwners.release(account, name);
    return { result: { id } };
  });
}

function shown({ account, approved_by, ...zone }: ZoneRecord): ValueOf<typeof ZONE> {
  return { ...zone, account: { id: account } };
}
