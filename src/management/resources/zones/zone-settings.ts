/** Settings of a zone. */

import { anything, object } from '../../../quotas/schema/schema.js';
import { type Context, param, zoneOf } from '../../context.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import { type ApiRoute, many, one, type Resource, route, routeWithBody, ZONE_PATH } from '../../route.js';
import { body, boolean, dateTime, named, nullable, string, type ValueOf } from '../../schemas.js';
import type { ZoneRecord } from '../../state/stores.js';
import { COMPRESSION_RULES, type ZoneSetting } from '../../zone-settings.js';
import { checkPattern } from './routes.js';

const DEFAULT_ETAG = 'default';

const ZONE_SETTING_UPDATE = body('ZoneSettingUpdate', object({ value: anything() }), { value: 'on' });
const ZONE_SETTING = named(
  'ZoneSetting',
  object({
    id: string,
    value: anything(),
    editable: boolean,
    modified_on: nullable(dateTime),
  }),
);

export const ZONE_SETTINGS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ZONE_PATH}/settings`, id: 'zone-setting-list', access: 'zones:read', summary: 'Settings of a zone', answer: many(ZONE_SETTING, 'no') }, listSettings),
    route({ method: 'GET', path: `${ZONE_PATH}/settings/{setting_id}`, id: 'zone-setting-get', access: 'zones:read', summary: 'A setting of a zone', answer: one(ZONE_SETTING) }, getSetting()),
    routeWithBody({ method: 'PATCH', path: `${ZONE_PATH}/settings/{setting_id}`, id: 'zone-setting-update', access: 'zones:edit', summary: 'Change a setting of a zone', answer: one(ZONE_SETTING) }, ZONE_SETTING_UPDATE, updateSetting()),
    ...deprecatedSetting(ZONE_PATH, 'brotli', 'PATCH'),
    ...deprecatedSetting(ZONE_PATH, 'minify', 'PATCH'),
    ...deprecatedSetting('/zones/{zone_identifier}', 'mobile_redirect', 'PATCH'),
    ...deprecatedSetting(ZONE_PATH, 'server_side_exclude', 'PATCH'),
    ...deprecatedSetting('/zones/{zone_identifier}', 'privacy_pass', 'POST'),
  ],
};

/** Settings whose end has come are no longer listed. */
async function listSettings(context: Context): Promise<ListReply<typeof ZONE_SETTING>> {
  const { zoneSettings, schedule } = context.services;
  const result: ValueOf<typeof ZONE_SETTING>[] = [];
  for (const [name, { deprecation }] of zoneSettings) {
    if (deprecation !== null && schedule.isFinished(deprecation, context.at)) continue;
    result.push((await read(context, name)).result);
  }
  return { result };
}

/** Under a route of its own (`name`), or by the parameter `setting_id`. */
function getSetting(name?: string): (context: Context) => Promise<OneReply<typeof ZONE_SETTING>> {
  return context => read(context, name ?? param(context, 'setting_id'));
}

function updateSetting(
  name?: string,
): (context: Context, body: ValueOf<typeof ZONE_SETTING_UPDATE>) => Promise<OneReply<typeof ZONE_SETTING>> {
  return async (context, body) => {
    const { stores, now, compression } = context.services;
    const setting = name ?? param(context, 'setting_id');
    const zone = zoneOf(context);
    const { id } = zone;
    const definition = definitionOf(context, setting);
    requirePlan(context, definition, zone, setting);
    const [problem] = definition.problems(body.value);
    if (problem !== undefined) {
      throw new ApiError(
        'BODY_INVALID',
        problem.startsWith('/') ? `/value${problem}` : problem.replace('the body', '/value'),
      );
    }
    if (setting === COMPRESSION_RULES) checkRules(body.value, zone.name);
    return stores.lock.run(`zone/${id}`, async () => {
      if (!(await stores.zones.has(id))) throw new ApiError('NOT_FOUND', 'There is no such zone');
      requireMatch(context.request.headers, (await stores.zoneSettings.get(id, setting))?.etag ?? DEFAULT_ETAG);
      const record = { value: body.value, modified_on: now().toISOString() };
      const put = stores.zoneSettings.put([id, setting], record);
      await context.commit([put.operation]);
      compression.apply(zone, setting, body.value);
      return {
        result: { id: setting, value: body.value, editable: true, modified_on: record.modified_on },
        etag: put.etag,
      };
    });
  };
}

async function read(context: Context, name: string): Promise<OneReply<typeof ZONE_SETTING>> {
  const definition = definitionOf(context, name);
  const { stores, functions } = context.services;
  const zone = zoneOf(context);
  const stored = await stores.zoneSettings.get(zone.id, name);
  return {
    result: {
      id: name,
      value: stored === undefined ? definition.default : stored.value.value,
      editable: definition.plan === null || functions.zonePlan(zone.account) === definition.plan,
      modified_on: stored?.value.modified_on ?? null,
    },
    etag: stored?.etag ?? DEFAULT_ETAG,
  };
}

function requirePlan(
  { services }: Context,
  { plan }: ZoneSetting,
  { account, name }: ZoneRecord,
  setting: string,
): void {
  const own = services.functions.zonePlan(account);
  if (plan === null || own === plan) return;
  throw new ApiError(
    'LIMIT_EXCEEDED',
    `The setting ${setting} is for zones of plan ${plan}, and the account of ${name} has plan ${own ?? 'none'} (zone_plan)`,
  );
}

/** Its schema has been checked. */
function checkRules(value: unknown, zone: string): void {
  for (const [at, { pattern }] of (value as readonly { readonly pattern: string }[]).entries()) {
    checkPattern(pattern, zone, `/value/${at}/pattern`);
  }
}

function definitionOf(context: Context, name: string): ZoneSetting {
  const definition = context.services.zoneSettings.get(name);
  if (definition === undefined) throw new ApiError('NOT_FOUND', `There is no zone setting ${JSON.stringify(name)}`);
  return definition;
}

function deprecatedSetting(zone: string, name: string, method: 'PATCH' | 'POST'): ApiRoute[] {
  const path = `${zone}/settings/${name}`;
  const id = `setting-${name.replaceAll('_', '-')}`;
  return [
    route(
      {
        method: 'GET',
        path,
        id: `${id}-get`,
        access: 'zones:read',
        summary: `The setting ${name}`,
        answer: one(ZONE_SETTING),
      },
      getSetting(name),
    ),
    routeWithBody(
      { method, path, id: `${id}-update`, access: 'zones:edit', summary: `Change ${name}`, answer: one(ZONE_SETTING) },
      ZONE_SETTING_UPDATE,
      updateSetting(name),
    ),
  ];
}
