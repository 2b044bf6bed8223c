/** Secrets of a function: written and deleted, their text never read back. */

import { type Context, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import type { RecordChange } from '../state/records.js';
import { changeFunction } from './change-function.js';

export async function listSecrets(context: Context): Promise<Reply> {
  const { functionStore, stores } = context.services;
  const { value, etag } = await functionStore.get(context.account, param(context, 'function_name'));
  const result: unknown[] = [];
  for await (const { name, modified_on } of stores.secrets.below(context.account, value.name)) {
    result.push(shown(name, modified_on));
  }
  return { result, etag };
}

export async function putSecret(context: Context, body: Bodies['SecretInput']): Promise<Reply> {
  const { functionStore, now } = context.services;
  const time = now();
  return change(context, (secrets, name) => {
    secrets.set(body.name, body.text);
    return {
      result: shown(body.name, time.toISOString()),
      operation: functionStore.putSecret(context.account, name, body.name, body.text, time),
    };
  });
}

export async function deleteSecret(context: Context): Promise<Reply> {
  const secret = param(context, 'secret_name');
  return change(context, (secrets, name) => {
    if (!secrets.delete(secret))
      throw new ApiError('NOT_FOUND', `The function has no secret ${JSON.stringify(secret)}`);
    return { result: { id: secret }, operation: context.services.stores.secrets.del(context.account, name, secret) };
  });
}

/** The serving version restarts with the other secrets. */
async function change(
  context: Context,
  apply: (secrets: Map<string, string>, name: string) => { readonly result: unknown; readonly operation: RecordChange },
): Promise<Reply> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  return changeFunction(context, async (name, stored) => {
    const secrets = await functionStore.secrets(account, name);
    const { result, operation } = apply(secrets, name);
    const version = await functionStore.version(account, name, stored.version_id);
    const put = stores.functions.put([account, name], { ...stored, modified_on: now().toISOString() });
    const deployment = await functionStore.deployment(account, name, version, { secrets });
    await functionStore.activate(deployment, stored, () => context.commit([put.operation, operation]));
    return { result, etag: put.etag };
  });
}

function shown(name: string, modified_on: string): unknown {
  return { name, type: 'secret_text', modified_on };
}
