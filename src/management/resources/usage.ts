/** The usage of an account and of a function, and the limits of their plan. */

import { list, object } from '../../quotas/schema/schema.js';
import { type Context, param } from '../context.js';
import type { OneReply } from '../http/envelope.js';
import { ACCOUNT_PATH, FUNCTION_PATH, one, type Resource, route } from '../route.js';
import { dateTime, integer, named, nullable, number, string } from '../schemas.js';

const quota = object({
  id: string,
  used: number(),
  limit: nullable(number()),
  unit: string,
  resets_on: nullable(dateTime),
});

const FUNCTION_USAGE = named(
  'FunctionUsage',
  object({ requests: integer, errors: integer, cpu_ms: number(), subrequests: integer }),
);
const ACCOUNT_USAGE = named('AccountUsage', object({ plan: string, quotas: list(quota) }));

export const USAGE_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/usage`, id: 'function-usage', access: 'usage:read', summary: 'Usage of a function', answer: one(FUNCTION_USAGE) }, getFunctionUsage),
    route({ method: 'GET', path: `${ACCOUNT_PATH}/usage`, id: 'account-usage', access: 'usage:read', summary: 'Usage and quotas of an account', answer: one(ACCOUNT_USAGE) }, getAccountUsage),
  ],
};

async function getAccountUsage(context: Context): Promise<OneReply<typeof ACCOUNT_USAGE>> {
  const { plan, quotas } = await context.services.functions.accountUsage(context.account);
  const result = {
    plan,
    quotas: quotas.map(({ resetsOn, id, used, limit, unit }) => ({
      id,
      used,
      limit,
      unit,
      resets_on: resetsOn === null ? null : resetsOn.toISOString(),
    })),
  };
  return { result };
}

async function getFunctionUsage(context: Context): Promise<OneReply<typeof FUNCTION_USAGE>> {
  const { functionStore, functions } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const { requests, errors, cpuMs, subrequests } = await functions.functionUsage(context.account, value.name);
  return { result: { requests, errors, cpu_ms: cpuMs, subrequests } };
}
