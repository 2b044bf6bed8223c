/** Cron triggers of a function. */

import { type Context, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { cronOfSchedule } from '../state/function-store.js';
import { changeFunction } from './change-function.js';

export async function listSchedules(context: Context): Promise<Reply> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: value.crons, etag };
}

export async function replaceSchedules(context: Context, body: Bodies['Schedules']): Promise<Reply> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  const schedules = body.map(schedule => ({ ...schedule, cron: schedule.cron.trim().replace(/\s+/g, ' ') }));
  const crons = schedules.map(({ cron }) => cron);
  const twice = crons.find((cron, index) => crons.indexOf(cron) !== index);
  if (twice !== undefined)
    throw new ApiError('BODY_INVALID', `The cron expression ${JSON.stringify(twice)} is listed twice`);
  return changeFunction(context, async (name, stored) => {
    const time = now().toISOString();
    const known = new Map(stored.crons.map(({ cron, created_on }) => [cron, created_on]));
    const record = {
      ...stored,
      modified_on: time,
      crons: schedules.map(schedule => ({ ...schedule, created_on: known.get(schedule.cron) ?? time })),
    };
    const put = stores.functions.put([account, name], record);
    const triggers = { ...(await functionStore.triggers(account, name)), crons: schedules.map(cronOfSchedule) };
    await functionStore.setTriggers(account, name, triggers, () => context.commit([put.operation]));
    return { result: record.crons, etag: put.etag };
  });
}

/** Runs the scheduled handler now, as a trigger would; the answer comes when it has ended. */
export async function runSchedule(context: Context, body: Bodies['ScheduleRun']): Promise<Reply> {
  const { functionStore, functions } = context.services;
  const { account } = context;
  const name = param(context, 'function_name');
  const { value } = await functionStore.get(account, name);
  const { cron = value.crons[0]?.cron ?? '', scheduled_time: time } = body;
  const { error, noRetry } = await functions.runScheduled(account, name, {
    cron,
    scheduledTime: time === undefined ? null : new Date(time),
  });
  return { result: { outcome: error === null ? 'ok' : 'failed', cron, no_retry: noRetry, error } };
}
