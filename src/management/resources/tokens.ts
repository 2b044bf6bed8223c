/** API tokens of an account. A token can only make tokens that may do no more than itself. */

import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { permits } from '../permissions.js';
import type { Bodies } from '../schemas.js';
import type { TokenRecord } from '../state/tokens.js';

export async function listTokens(context: Context): Promise<Reply> {
  const { items, info } = await context.services.stores.tokens.page(
    [],
    pageQuery(context),
    token => token.account === context.account,
  );
  return { result: items.map(shown), resultInfo: info };
}

export async function createToken(context: Context, body: Bodies['TokenCreate']): Promise<Reply> {
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

export async function getToken(context: Context): Promise<Reply> {
  return { result: shown(await find(context)) };
}

export async function revokeToken(context: Context): Promise<Reply> {
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

function shown({ hash, ...token }: TokenRecord) {
  return token;
}
