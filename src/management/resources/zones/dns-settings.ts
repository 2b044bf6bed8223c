/** DNS settings of a zone: the one record, and the two endpoints for single fields that came before it. */

import { object } from '../../../quotas/schema/schema.js';
import { type Context, zoneOf } from '../../context.js';
import { ApiError, type OneReply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import { one, type Resource, route, routeWithBody, ZONE_PATH } from '../../route.js';
import { body, boolean, named, type ValueOf } from '../../schemas.js';
import type { DnsSettings } from '../../state/stores.js';

type Field = keyof DnsSettings;

const DEFAULTS: DnsSettings = { multi_provider: false, secondary_overrides: false };
/** The ETag of settings that have never been changed. */
const DEFAULT_ETAG = 'default';

const DNS_SETTINGS_UPDATE = body(
  'DnsSettingsUpdate',
  object({ 'multi_provider?': boolean, 'secondary_overrides?': boolean }, { minProperties: 1 }),
  { multi_provider: true },
);
const DNS_SETTING_UPDATE = body('DnsSettingUpdate', object({ value: boolean }), { value: true });
const DNS_SETTING = named('DnsSetting', object({ value: boolean }));
const DNS_SETTINGS = named('DnsSettings', object({ multi_provider: boolean, secondary_overrides: boolean }));

export const DNS_SETTINGS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ZONE_PATH}/dns_settings`, id: 'dns-settings-get', access: 'dns:read', summary: 'DNS settings of a zone', answer: one(DNS_SETTINGS) }, getDnsSettings),
    routeWithBody({ method: 'PATCH', path: `${ZONE_PATH}/dns_settings`, id: 'dns-settings-update', access: 'dns:edit', summary: 'Change DNS settings', answer: one(DNS_SETTINGS) }, DNS_SETTINGS_UPDATE, updateDnsSettings),
    route({ method: 'GET', path: `${ZONE_PATH}/dns_settings/use_apex_ns`, id: 'use-apex-ns-get', access: 'dns:read', summary: 'multi_provider under its former name', answer: one(DNS_SETTING) }, getField('multi_provider')),
    routeWithBody({ method: 'PATCH', path: `${ZONE_PATH}/dns_settings/use_apex_ns`, id: 'use-apex-ns-update', access: 'dns:edit', summary: 'Change multi_provider under its former name', answer: one(DNS_SETTING) }, DNS_SETTING_UPDATE, updateField('multi_provider')),
    route({ method: 'GET', path: `${ZONE_PATH}/dns_settings/secondary_overrides`, id: 'secondary-overrides-get', access: 'dns:read', summary: 'secondary_overrides at its former place', answer: one(DNS_SETTING) }, getField('secondary_overrides')),
    routeWithBody({ method: 'PATCH', path: `${ZONE_PATH}/dns_settings/secondary_overrides`, id: 'secondary-overrides-update', access: 'dns:edit', summary: 'Change secondary_overrides at its former place', answer: one(DNS_SETTING) }, DNS_SETTING_UPDATE, updateField('secondary_overrides')),
  ],
};

async function getDnsSettings(context: Context): Promise<OneReply<typeof DNS_SETTINGS>> {
  const { value, etag } = await read(context);
  return { result: value, etag };
}

async function updateDnsSettings(
  context: Context,
  body: ValueOf<typeof DNS_SETTINGS_UPDATE>,
): Promise<OneReply<typeof DNS_SETTINGS>> {
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

function getField(field: Field): (context: Context) => Promise<OneReply<typeof DNS_SETTING>> {
  return async context => {
    const { value, etag } = await read(context);
    return { result: { value: value[field] }, etag };
  };
}

function updateField(
  field: Field,
): (context: Context, body: ValueOf<typeof DNS_SETTING_UPDATE>) => Promise<OneReply<typeof DNS_SETTING>> {
  return async (context, body) => {
    const reply = await updateDnsSettings(context, { [field]: body.value });
    return { ...reply, result: { value: body.value } };
  };
}

async function read(context: Context): Promise<{ value: DnsSettings; etag: string }> {
  const stored = await context.services.stores.dnsSettings.get(zoneOf(context).id);
  return stored ?? { value: DEFAULTS, etag: DEFAULT_ETAG };
}
