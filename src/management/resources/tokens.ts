/** API tokens of an account. A token can only make tokens that may do no more than itself. */

import { choice, list, object } from '../../quotas/schema/schema.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type ListReply, type OneReply } from '../http/envelope.js';
import { PERMISSIONS, permits } from '../permissions.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../route.js';
import { body, DELETED, dateTime, named, nullable, shortText, string, type ValueOf } from '../schemas.js';
import type { TokenRecord } from '../state/tokens.js';

const TOKEN_CREATE = body(
  'TokenCreate',
  object({
    name: shortText(120),
    permissions: list(choice(PERMISSIONS), { minItems: 1, uniqueItems: true }),
    'expires_on?': dateTime,
  }),
  { name: 'deploys', permissions: ['functions:edit'] },
);
const TOKEN = named(
  'Token',
  object({
    id: string,
    name: string,
    account: string,
    permissions: list(string),
    created_on: dateTime,
    expires_on: nullable(dateTime),
    'value?': { ...string, description: 'The token itself; shown once, when it is made' },
  }),
);

export const TOKENS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/tokens`, id: 'token-list', access: 'tokens:read', summary: 'API tokens of an account', answer: many(TOKEN) }, listTokens),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/tokens`, id: 'token-create', access: 'tokens:edit', summary: 'Make an API token; its text is shown this once', answer: created(TOKEN) }, TOKEN_CREATE, createToken),
    route({ method: 'GET', path: `${ACCOUNT_PATH}/tokens/{token_id}`, id: 'token-get', access: 'tokens:read', summary: 'An API token without its text', answer: one(TOKEN) }, getToken),
    route({ method: 'DELETE', path: `${ACCOUNT_PATH}/tokens/{token_id}`, id: 'token-revoke', access: 'tokens:edit', summary: 'Revoke an API token', answer: one(DELETED) }, revokeToken),
  ],
};

async function listTokens(context: Context): Promise<ListReply<typeof TOKEN>> {
  const { items, info } = await context.services.stores.tokens.page(
    [],
    pageQuery(context),
    token => token.account === context.account,
  );
  return { result: items.map(shown), resultInfo: info };
}

async function createToken(context: Context, body: ValueOf<typeof TOKEN_CREATE>): Promise<OneReply<typeof TOKEN>> {
  const { stores, tokens, limits, now } = context.services;
  const { account, principal } = context;
  const missing = body.permissions.find(permission => !permits(principal.permissions, permission));
  if (missing !== undefined)
    throw new ApiError('PERMISSION', `/permissions: the token that asks lacks ${missing} itself`);
  const time = now();
  const expiresOn = body.expires_on === undefined ? null : Date.parse(body.expires_on);
  if (expiresOn !== null && expiresOn <= time.getTime())
    throw new ApiError('BODY_INVALID', '/expires_on must be in the future');
  if (principal.expiresOn !== null && (expiresOn === null || expiresOn > principal.expiresOn)) {
    throw new ApiError(
      'PERMISSION',
      `/expires_on must not be after ${new Date(principal.expiresOn).toISOString()}, when the token that asks expires`,
    );
  }
  return stores.lock.run(`tokens/${account}`, async () => {
    const { info } = await stores.tokens.page([], { page: 1, perPage: 1 }, token => token.account === account);
    if (info.total_count >= limits.tokensPerAccount) {
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The account has ${info.total_count} tokens, at most ${limits.tokensPerAccount} are allowed`,
      );
    }
    const spec = {
      name: body.name,
      account,
      permissions: body.permissions,
      expires_on: expiresOn === null ? null : new Date(expiresOn).toISOString(),
    };
    const { record, value, write } = tokens.prepare(spec, time);
    await context.commit([write]);
    return { result: { ...shown(record), value } };
  });
}

async function getToken(context: Context): Promise<OneReply<typeof TOKEN>> {
  return { result: shown(await find(context)) };
}

async function revokeToken(context: Context): Promise<OneReply<typeof DELETED>> {
  const { stores } = context.services;
  return stores.lock.run(`tokens/${context.account}`, async () => {
    const { id } = await find(context);
    await context.commit([stores.tokens.del(id)]);
    return { result: { id } };
  });
}

async function find(context: Context): Promise<TokenRecord> {
  const id = param(context, 'token_id');
  const stored = await context.services.stores.tokens.get(id);
  if (stored === undefined || stored.value.account !== context.account) {
    throw new ApiError('NOT_FOUND', `The account has no token ${id}`);
  }
  return stored.value;
}

function shown({ hash, ...token }: TokenRecord): ValueOf<typeof TOKEN> {
  return token;
}
