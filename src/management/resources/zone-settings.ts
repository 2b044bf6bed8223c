/** Settings of a zone. */

import { type Context, param, zoneOf } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { requireMatch } from '../http/preconditions.js';
import type { Bodies } from '../schemas.js';
import { BROTLI } from '../zone-brotli.js';
import type { ZoneSetting } from '../zone-settings.js';

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
    const { stores, now, brotli } = context.services;
    const setting = name ?? param(context, 'setting_id');
    const zone = zoneOf(context);
    const { id } = zone;
    const [problem] = definitionOf(context, setting).problems(body.value);
    if (problem !== undefined) {
      throw new ApiError(
        'BODY_INVALID',
        problem.startsWith('/') ? `/value${problem}` : problem.replace('the body', '/value'),
      );
    }
    return stores.lock.run(`zone/${id}`, async () => {
      if (!(await stores.zones.has(id))) throw new ApiError('NOT_FOUND', 'There is no such zone');
      requireMatch(context.request.headers, (await stores.zoneSettings.get(id, setting))?.etag ?? DEFAULT_ETAG);
      const record = { value: body.value, modified_on: now().toISOString() };
      const put = stores.zoneSettings.put([id, setting], record);
      await context.commit([put.operation]);
      if (setting === BROTLI) brotli.apply(zone, body.value);
      return {
        result: { id: setting, value: body.value, editable: true, modified_on: record.modified_on },
        etag: put.etag,
      };
    });
  };
}

async function read(context: Context, name: string): Promise<Reply> {
  const definition = definitionOf(context, name);
  const stored = await context.services.stores.zoneSettings.get(zoneOf(context).id, name);
  return {
    result: {
      id: name,
      value: stored === undefined ? definition.default : stored.value.value,
      editable: true,
      modified_on: stored?.value.modified_on ?? null,
    },
    etag: stored?.etag ?? DEFAULT_ETAG,
  };
}

function definitionOf(context: Context, name: string): ZoneSetting {
  const definition = context.services.zoneSettings.get(name);
  if (definition === undefined) throw new ApiError('NOT_FOUND', `There is no zone setting ${JSON.stringify(name)}`);
  return definition;
}
