/** The usage of an account and of a function, and the limits of their plan. */

import { type Context, param } from '../context.js';
import type { Reply } from '../http/envelope.js';

export async function getAccountUsage(context: Context): Promise<Reply> {
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

export async function getFunctionUsage(context: Context): Promise<Reply> {
  const { functionStore, functions } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const { requests, errors, cpuMs, subrequests } = await functions.functionUsage(context.account, value.name);
  return { result: { requests, errors, cpu_ms: cpuMs, subrequests } };
}
