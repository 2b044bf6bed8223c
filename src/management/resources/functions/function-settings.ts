/** Settings and bindings of a function. A change makes a new version of the same modules, and that version serves. */

import { randomUUID } from 'node:crypto';
import { list, object } from '../../../quotas/schema/schema.js';
import { type Context, param } from '../../context.js';
import { BINDINGS, type Binding, configuration, shownBinding } from '../../function-schemas.js';
import { ApiError, type OneReply } from '../../http/envelope.js';
import { FUNCTION_PATH, one, type Resource, route, routeWithBody } from '../../route.js';
import { anyObject, body, named, nullable, string, type ValueOf } from '../../schemas.js';
import type { Configuration } from '../../state/function-store.js';
import type { VersionRecord } from '../../state/stores.js';
import { splitBindings } from '../../uploads.js';
import { changeFunction } from './change-function.js';
import { deploymentEntry } from './functions.js';

const FUNCTION_SETTINGS_UPDATE = body('FunctionSettingsUpdate', object(configuration, { minProperties: 1 }), {
  limits: { cpu_ms: 50 },
});
const FUNCTION_SETTINGS = named(
  'FunctionSettings',
  object({
    compatibility_date: nullable(string),
    compatibility_flags: list(string),
    bindings: list(anyObject),
    limits: anyObject,
    usage_model: nullable(string),
    tail_consumers: list(anyObject),
    'egress?': anyObject,
  }),
);
const BINDING_LIST = named('BindingList', list(shownBinding));

export const FUNCTION_SETTINGS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/settings`, id: 'function-settings-get', access: 'functions:read', summary: 'Settings of a function', answer: one(FUNCTION_SETTINGS) }, getSettings),
    routeWithBody({ method: 'PATCH', path: `${FUNCTION_PATH}/settings`, id: 'function-settings-update', access: 'functions:edit', summary: 'Change limits, usage model, compatibility, bindings', answer: one(FUNCTION_SETTINGS) }, FUNCTION_SETTINGS_UPDATE, updateSettings),
    route({ method: 'GET', path: `${FUNCTION_PATH}/bindings`, id: 'binding-list', access: 'functions:read', summary: 'Bindings of a function, secrets without their text', answer: one(BINDING_LIST) }, getBindings),
    routeWithBody({ method: 'PUT', path: `${FUNCTION_PATH}/bindings`, id: 'binding-replace', access: 'functions:edit', summary: 'Replace bindings; secrets left out stay', answer: one(BINDING_LIST) }, BINDINGS, replaceBindings),
  ],
};

async function getSettings(context: Context): Promise<OneReply<typeof FUNCTION_SETTINGS>> {
  const { version, secrets, etag } = await read(context);
  return { result: shownSettings(version, secrets), etag };
}

async function updateSettings(
  context: Context,
  body: ValueOf<typeof FUNCTION_SETTINGS_UPDATE>,
): Promise<OneReply<typeof FUNCTION_SETTINGS>> {
  const { bindings, ...rest } = body;
  const { version, secrets, etag } = await reconfigure(context, rest, bindings);
  return { result: shownSettings(version, secrets), etag };
}

async function getBindings(context: Context): Promise<OneReply<typeof BINDING_LIST>> {
  const { version, secrets, etag } = await read(context);
  return { result: shownBindings(version, secrets), etag };
}

/** Secrets that are not in the list stay: only their own route deletes them. */
async function replaceBindings(
  context: Context,
  body: ValueOf<typeof BINDINGS>,
): Promise<OneReply<typeof BINDING_LIST>> {
  const { version, secrets, etag } = await reconfigure(context, {}, body);
  return { result: shownBindings(version, secrets), etag };
}

interface Settings {
  readonly version: VersionRecord;
  readonly secrets: readonly string[];
  readonly etag: string;
}

async function read(context: Context): Promise<Settings> {
  const { functionStore, stores } = context.services;
  const { account } = context;
  const { value, etag } = await functionStore.get(account, param(context, 'function_name'));
  const secrets: string[] = [];
  for await (const secret of stores.secrets.below(account, value.name)) secrets.push(secret.name);
  return { version: await functionStore.version(account, value.name, value.version_id), secrets, etag };
}

async function reconfigure(
  context: Context,
  changes: Partial<Omit<Configuration, 'bindings'>>,
  allBindings: readonly Binding[] | undefined,
): Promise<Settings> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  return changeFunction(context, async (name, stored) => {
    const time = now();
    const before = await functionStore.version(account, name, stored.version_id);
    const secrets = await functionStore.secrets(account, name);
    const split = allBindings === undefined ? null : splitBindings(allBindings);
    for (const kept of split?.kept ?? []) {
      if (!secrets.has(kept))
        throw new ApiError('BODY_INVALID', `The secret ${JSON.stringify(kept)} is not stored: give its text`);
    }
    for (const [secret, text] of split?.secrets ?? []) secrets.set(secret, text);
    const version: VersionRecord = {
      ...before,
      ...changes,
      ...(split === null ? {} : { bindings: split.bindings }),
      id: randomUUID(),
      number: stored.next_version,
      created_on: time.toISOString(),
      message: null,
    };
    const record = {
      ...stored,
      version_id: version.id,
      deployment_id: randomUUID(),
      modified_on: time.toISOString(),
      next_version: version.number + 1,
    };
    const put = stores.functions.put([account, name], record);
    const pruned = [
      ...(await functionStore.pruneVersions(account, name, [before.content_id])),
      ...(await functionStore.pruneDeployments(account, name)),
    ];
    const deployment = await functionStore.deployment(account, name, version, { secrets });
    await functionStore.activate(deployment, stored, startup_time_ms =>
      context.commit([
        ...pruned,
        put.operation,
        stores.versions.put([account, name, version.id], { ...version, startup_time_ms }).operation,
        ...[...(split?.secrets ?? [])].map(([secret, text]) =>
          functionStore.putSecret(account, name, secret, text, time),
        ),
        deploymentEntry(context, record, startup_time_ms, null),
      ]),
    );
    return { version, secrets: [...secrets.keys()], etag: put.etag };
  });
}

function shownSettings(version: VersionRecord, secrets: readonly string[]): ValueOf<typeof FUNCTION_SETTINGS> {
  const { compatibility_date, compatibility_flags, limits, usage_model, tail_consumers = [], egress } = version;
  const bindings = shownBindings(version, secrets);
  const shown = { compatibility_date, compatibility_flags, limits, usage_model, tail_consumers, bindings };
  return egress === undefined ? shown : { ...shown, egress: { ...egress } };
}

function shownBindings(version: VersionRecord, secrets: readonly string[]): Binding[] {
  return [...version.bindings, ...secrets.map(name => ({ type: 'secret_text', name }) as const)];
}
