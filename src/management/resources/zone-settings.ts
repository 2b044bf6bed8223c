/** Settings of a zone. */

import { type Context, param, zoneOf } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { requireMatch } from '../http/preconditions.js';
import type { Bodies } from '../schemas.js';
import type { ZoneRecord } from '../state/stores.js';
import { COMPRESSION_RULES, type ZoneSetting } from '../zone-settings.js';
import { checkPattern } from './routes.js';

const DEFAULT_ETAG = 'default';

/** Settings whose end has come are no longer listed. */
export async function listSettings(context: Context): Promise<Reply> {
  const { zoneSettings, schedule } = context.services;
  const result: unknown[] = [];
  for (const [name, { deprecation }] of zoneSettings) {
    if (deprecation !== null && schedule.isFinished(deprecation, context.at)) continue;
    result.push((await read(context, name)).result);
  }
  return { result };
}

/** Under a route of its own (`name`), or by the parameter `setting_id`. */
export function getSetting(name?: string): (context: Context) => Promise<Reply> {
  return context => read(context, name ?? param(context, 'setting_id'));
}

export function updateSetting(name?: string): (context: Context, body: Bodies['ZoneSettingUpdate']) => Promise<Reply> {
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

async function read(context: Context, name: string): Promise<Reply> {
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
