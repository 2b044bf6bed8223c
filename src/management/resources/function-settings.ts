/** Settings and bindings of a function. A change makes a new version of the same modules, and that version serves. */

import { randomUUID } from 'node:crypto';
import { type Context, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Binding, Bodies } from '../schemas.js';
import type { Configuration } from '../state/function-store.js';
import type { VersionRecord } from '../state/stores.js';
import { splitBindings } from '../uploads.js';
import { changeFunction } from './change-function.js';
import { deploymentEntry } from './functions.js';

export async function getSettings(context: Context): Promise<Reply> {
  const { version, secrets, etag } = await read(context);
  return { result: shownSettings(version, secrets), etag };
}

export async function updateSettings(context: Context, body: Bodies['FunctionSettingsUpdate']): Promise<Reply> {
  const { bindings, ...rest } = body;
  const { version, secrets, etag } = await reconfigure(context, rest, bindings);
  return { result: shownSettings(version, secrets), etag };
}

export async function getBindings(context: Context): Promise<Reply> {
  const { version, secrets, etag } = await read(context);
  return { result: shownBindings(version, secrets), etag };
}

/** Secrets that are not in the list stay: only their own route deletes them. */
export async function replaceBindings(context: Context, body: Bodies['Bindings']): Promise<Reply> {
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

function shownSettings(version: VersionRecord, secrets: readonly string[]): unknown {
  const { compatibility_date, compatibility_flags, limits, usage_model, tail_consumers = [] } = version;
  const bindings = shownBindings(version, secrets);
  return { compatibility_date, compatibility_flags, limits, usage_model, tail_consumers, bindings };
}

function shownBindings(version: VersionRecord, secrets: readonly string[]): Binding[] {
  return [...version.bindings, ...secrets.map(name => ({ type: 'secret_text', name }) as const)];
}
