/** Secrets of a function: written and deleted, their text never read back. */

import { SECRET } from '../../../config-schema/function-shapes.js';
import { BINDING_NAME } from '../../../quotas/binding-name.js';
import { constant, object } from '../../../quotas/schema/schema.js';
import { type Context, param } from '../../context.js';
import { ApiError, type ListReply, type OneReply, type Reply } from '../../http/envelope.js';
import { FUNCTION_PATH, many, one, type Resource, route, routeWithBody } from '../../route.js';
import { body, DELETED, dateTime, named, string, type ValueOf } from '../../schemas.js';
import type { RecordChange } from '../../state/records.js';
import { changeFunction } from './change-function.js';

const SECRET_INPUT = body('SecretInput', object({ name: BINDING_NAME, text: SECRET }), {
  name: 'API_KEY',
  text: 'correct horse battery staple',
});
const STORED_SECRET = named('Secret', object({ name: string, type: constant('secret_text'), modified_on: dateTime }));

export const SECRETS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/secrets`, id: 'secret-list', access: 'functions:read', summary: 'Names of the secrets', answer: many(STORED_SECRET, 'no') }, listSecrets),
    routeWithBody({ method: 'PUT', path: `${FUNCTION_PATH}/secrets`, id: 'secret-put', access: 'functions:edit', summary: 'Set a secret', answer: one(STORED_SECRET) }, SECRET_INPUT, putSecret),
    route({ method: 'DELETE', path: `${FUNCTION_PATH}/secrets/{secret_name}`, id: 'secret-delete', access: 'functions:edit', summary: 'Delete a secret', answer: one(DELETED) }, deleteSecret),
  ],
};

async function listSecrets(context: Context): Promise<ListReply<typeof STORED_SECRET>> {
  const { functionStore, stores } = context.services;
  const { value, etag } = await functionStore.get(context.account, param(context, 'function_name'));
  const result: ValueOf<typeof STORED_SECRET>[] = [];
  for await (const { name, modified_on } of stores.secrets.below(context.account, value.name)) {
    result.push(shown(name, modified_on));
  }
  return { result, etag };
}

async function putSecret(
  context: Context,
  body: ValueOf<typeof SECRET_INPUT>,
): Promise<OneReply<typeof STORED_SECRET>> {
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

async function deleteSecret(context: Context): Promise<OneReply<typeof DELETED>> {
  const secret = param(context, 'secret_name');
  return change(context, (secrets, name) => {
    if (!secrets.delete(secret))
      throw new ApiError('NOT_FOUND', `The function has no secret ${JSON.stringify(secret)}`);
    return { result: { id: secret }, operation: context.services.stores.secrets.del(context.account, name, secret) };
  });
}

/** The serving version restarts with the other secrets. */
async function change<Result>(
  context: Context,
  apply: (secrets: Map<string, string>, name: string) => { readonly result: Result; readonly operation: RecordChange },
): Promise<Reply<Result>> {
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

function shown(name: string, modified_on: string): ValueOf<typeof STORED_SECRET> {
  return { name, type: 'secret_text', modified_on };
}
