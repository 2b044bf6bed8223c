/** Cron triggers of a function. */

import { type Context, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { changeFunction } from './change-function.js';

export async function listSchedules(context: Context): Promise<Reply> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: value.crons, etag };
}

export async function replaceSchedules(context: Context, body: Bodies['Schedules']): Promise<Reply> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  const crons = body.map(({ cron }) => cron.trim().replace(/\s+/g, ' '));
  const twice = crons.find((cron, index) => crons.indexOf(cron) !== index);
  if (twice !== undefined)
    throw new ApiError('BODY_INVALID', `The cron expression ${JSON.stringify(twice)} is listed twice`);
  return changeFunction(context, async (name, stored) => {
    const time = now().toISOString();
    const known = new Map(stored.crons.map(({ cron, created_on }) => [cron, created_on]));
    const record = {
      ...stored,
      modified_on: time,
      crons: crons.map(cron => ({ cron, created_on: known.get(cron) ?? time })),
    };
    const put = stores.functions.put([account, name], record);
    const { routes } = await functionStore.triggers(account, name);
    await functionStore.setTriggers(account, name, { routes, crons }, () => context.commit([put.operation]));
    return { result: record.crons, etag: put.etag };
  });
}
