/** The accounts of the host, for its owner: tokens of one account cannot ask here, whatever they permit. */

import { finiteLimitNumber, snakeCase } from '../../quotas/limit-schema.js';
import { LIMIT_NAMES, PLANS, ZONE_PLANS } from '../../quotas/limits.js';
import { choice, list, object, type Schema } from '../../quotas/schema/schema.js';
import { type Context, pageQuery } from '../context.js';
import { ApiError, type ListReply, type OneReply, refusalOf } from '../http/envelope.js';
import type { AccountSummary } from '../ports.js';
import { ACCOUNT_PATH, many, one, type QueryOf, type Resource, route, routeWithBody } from '../route.js';
import { body, DELETED, integer, named, nullable, shortText, string, type ValueOf } from '../schemas.js';
import { pageOf } from '../state/records.js';

/** By the name of the limit: `cpu_ms`. One number for all kinds of invocation. */
const accountLimits: Schema<Readonly<Record<string, number>>> = {
  type: 'object',
  properties: Object.fromEntries(LIMIT_NAMES.map(name => [snakeCase(name), finiteLimitNumber(name)])),
  required: [],
  additionalProperties: false,
};

const ACCOUNT_UPDATE = body(
  'AccountUpdate',
  object(
    {
      'plan?': choice(PLANS),
      'zone_plan?': choice(ZONE_PLANS),
      'limits?': accountLimits,
      'caps?': accountLimits,
      'zones?': list(shortText(255), { maxItems: 10_000 }),
    },
    { minProperties: 1 },
  ),
  { plan: 'standard', limits: { storage_bytes: 1_000_000_000 } },
);
const ACCOUNT = named(
  'Account',
  object({
    id: string,
    plan: string,
    zone_plan: string,
    functions: list(string),
    zones: nullable(list(string)),
    'storage?': object({ bytes: integer, objects: integer }),
  }),
);

const REMOVAL_QUERY = { delete_data: choice(['true', 'false']) };

export const ACCOUNTS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: '/accounts', id: 'account-list', access: 'accounts:read', summary: 'Accounts of the host, for tokens for all accounts', answer: many(ACCOUNT) }, listAccounts),
    route({ method: 'GET', path: ACCOUNT_PATH, id: 'account-get', access: 'accounts:read', summary: 'An account, and how much it stores', answer: one(ACCOUNT) }, getAccount),
    routeWithBody({ method: 'PATCH', path: ACCOUNT_PATH, id: 'account-update', access: 'accounts:edit', summary: 'Change plan, limits, caps and zones of an account', answer: one(ACCOUNT) }, ACCOUNT_UPDATE, updateAccount),
    route({ method: 'DELETE', path: ACCOUNT_PATH, id: 'account-remove', access: 'accounts:edit', summary: 'End an account, and delete its data when delete_data says so', query: REMOVAL_QUERY, answer: one(DELETED) }, removeAccount),
  ],
};

async function listAccounts(context: Context): Promise<ListReply<typeof ACCOUNT>> {
  requireOwner(context);
  const { items, info } = await pageOf(context.services.functions.listAccounts(), pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getAccount(context: Context): Promise<OneReply<typeof ACCOUNT>> {
  requireOwner(context);
  const { bytes, objects } = await context.services.functions.accountStorage(context.account);
  return { result: { ...shown(find(context)), storage: { bytes, objects } } };
}

async function updateAccount(
  context: Context,
  body: ValueOf<typeof ACCOUNT_UPDATE>,
): Promise<OneReply<typeof ACCOUNT>> {
  requireOwner(context);
  const { plan, zone_plan: zonePlan, limits, caps, zones } = body;
  try {
    await context.services.functions.updateAccount(context.account, {
      ...(plan !== undefined && { plan }),
      ...(zonePlan !== undefined && { zonePlan }),
      ...(limits !== undefined && { limits: limitsOf(limits) }),
      ...(caps !== undefined && { caps: limitsOf(caps) }),
      ...(zones !== undefined && { zones }),
    });
  } catch (error) {
    // A zone that is no host name, which the schema cannot say.
    throw refusalOf(error, 'BODY_INVALID');
  }
  await context.commit([]);
  return getAccount(context);
}

async function removeAccount(context: Context<QueryOf<typeof REMOVAL_QUERY>>): Promise<OneReply<typeof DELETED>> {
  requireOwner(context);
  const { account } = context;
  const deleteData = context.query.delete_data === 'true';
  await context.services.functions.removeAccount(account, deleteData);
  // The log of the account has gone with its data.
  await context.commit([], deleteData ? EVERY_ACCOUNT : account);
  return { result: { id: account } };
}

const EVERY_ACCOUNT = '*';

function requireOwner({ principal }: Context): void {
  if (principal.account === EVERY_ACCOUNT) return;
  throw new ApiError('PERMISSION', 'Accounts are for the owner of the host: the token is for one account');
}

function find({ account, services }: Context): AccountSummary {
  const found = services.functions.listAccounts().find(({ id }) => id === account);
  if (found === undefined) throw new ApiError('NOT_FOUND', `There is no account ${JSON.stringify(account)}`);
  return found;
}

/** Limits have their names in this API as in `edgehost.toml`: `cpu_ms`. */
function limitsOf(given: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    LIMIT_NAMES.flatMap(name => {
      const value = given[snakeCase(name)];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function shown({ id, plan, zonePlan, functions, zones }: AccountSummary): ValueOf<typeof ACCOUNT> {
  return { id, plan, zone_plan: zonePlan, functions, zones: zones ?? null };
}
