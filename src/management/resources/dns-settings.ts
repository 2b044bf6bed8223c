/** DNS settings of a zone: the one record, and the two endpoints for single fields that came before it. */

import { type Context, zoneOf } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { requireMatch } from '../http/preconditions.js';
import type { Bodies } from '../schemas.js';
import type { DnsSettings } from '../state/stores.js';

type Field = keyof DnsSettings;

const DEFAULTS: DnsSettings = { multi_provider: false, secondary_overrides: false };
/** The ETag of settings that have never been changed. */
const DEFAULT_ETAG = 'default';

export async function getDnsSettings(context: Context): Promise<Reply> {
  const { value, etag } = await read(context);
  return { result: value, etag };
}

export async function updateDnsSettings(context: Context, body: Bodies['DnsSettingsUpdate']): Promise<Reply> {
  const { stores } = context.services;
  const { id } = zoneOf(context);
  return stores.lock.run(`zone/${id}`, async () => {
    if (!(await stores.zones.has(id))) throw new ApiError('NOT_FOUND', 'There is no such zone');
    const before = await read(context);
    requireMatch(context.request.headers, before.etag);
    const value = { ...before.value, ...body };
    const put = stores.dnsSettings.put([id], value);
    await context.commit([put.operation]);
    return { result: value, etag: put.etag };
  });
}

export function getField(field: Field): (context: Context) => Promise<Reply> {
  return async context => {
    const { value, etag } = await read(context);
    return { result: { value: value[field] }, etag };
  };
}

export function updateField(field: Field): (context: Context, body: Bodies['DnsSettingUpdate']) => Promise<Reply> {
  return async (context, body) => {
    const reply = await updateDnsSettings(context, { [field]: body.value });
    return { ...reply, result: { value: body.value } };
  };
}

async function read(context: Context): Promise<{ value: DnsSettings; etag: string }> {
  const stored = await context.services.stores.dnsSettings.get(zoneOf(context).id);
  return stored ?? { value: DEFAULTS, etag: DEFAULT_ETAG };
}
