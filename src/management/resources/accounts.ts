/** The accounts of the host, for its owner: tokens of one account cannot ask here, whatever they permit. */

import { LIMIT_NAMES } from '../../quotas/limits.js';
import { type Context, pageQuery } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { AccountSummary } from '../ports.js';
import { apiName, type Bodies } from '../schemas.js';
import { pageOf } from '../state/records.js';

export async function listAccounts(context: Context): Promise<Reply> {
  requireOwner(context);
  const { items, info } = await pageOf(context.services.functions.listAccounts(), pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getAccount(context: Context): Promise<Reply> {
  requireOwner(context);
  const { bytes, objects } = await context.services.functions.accountStorage(context.account);
  return { result: { ...shown(find(context)), storage: { bytes, objects } } };
}

export async function updateAccount(context: Context, body: Bodies['AccountUpdate']): Promise<Reply> {
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
    if (error instanceof TypeError || error instanceof RangeError)
      throw new ApiError('BODY_INVALID', error.message, { cause: error });
    throw error;
  }
  await context.commit([]);
  return getAccount(context);
}

export async function removeAccount(context: Context): Promise<Reply> {
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
      const value = given[apiName(name)];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function shown({ id, plan, zonePlan, functions, zones }: AccountSummary) {
  return { id, plan, zone_plan: zonePlan, functions, zones: zones ?? null };
}
