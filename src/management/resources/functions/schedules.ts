/** Cron triggers of a function. */

import { CRON_JITTER_MS, CRON_MISSED, CRON_OVERLAP } from '../../../config-schema/cron-trigger.js';
import { CRON } from '../../../config-schema/function-shapes.js';
import { choice, list, object, text } from '../../../quotas/schema/schema.js';
import { type Context, param } from '../../context.js';
import { ApiError, type OneReply } from '../../http/envelope.js';
import { FUNCTION_PATH, one, type Resource, route, routeWithBody } from '../../route.js';
import { anyObject, body, boolean, dateTime, integer, named, nullable, string, type ValueOf } from '../../schemas.js';
import { cronOfSchedule } from '../../state/function-store.js';
import { changeFunction } from './change-function.js';

const SCHEDULES = body(
  'Schedules',
  list(object({ cron: CRON, 'missed?': CRON_MISSED, 'overlap?': CRON_OVERLAP, 'jitter_ms?': CRON_JITTER_MS }), {
    maxItems: 1000,
  }),
  [{ cron: '*/5 * * * *', missed: 'latest' }],
);
const SCHEDULE_RUN = body(
  'ScheduleRun',
  object({
    'cron?': CRON,
    'scheduled_time?': text({ format: 'date-time', description: 'a time as RFC 3339 has it' }),
  }),
  { cron: '*/5 * * * *' },
);
const SCHEDULE_LIST = named(
  'ScheduleList',
  list(
    object({
      cron: string,
      'missed?': string,
      'overlap?': string,
      'jitter_ms?': integer,
      created_on: dateTime,
    }),
  ),
);
const SCHEDULE_OUTCOME = named(
  'ScheduleOutcome',
  object({
    outcome: choice(['ok', 'failed']),
    cron: string,
    no_retry: boolean,
    error: nullable(anyObject),
  }),
);

export const SCHEDULES_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/schedules`, id: 'schedule-list', access: 'functions:read', summary: 'Cron triggers', answer: one(SCHEDULE_LIST) }, listSchedules),
    routeWithBody({ method: 'PUT', path: `${FUNCTION_PATH}/schedules`, id: 'schedule-replace', access: 'functions:edit', summary: 'Replace the cron triggers', answer: one(SCHEDULE_LIST) }, SCHEDULES, replaceSchedules),
    routeWithBody({ method: 'POST', path: `${FUNCTION_PATH}/schedules/run`, id: 'schedule-run', access: 'functions:edit', summary: 'Run the scheduled handler once, now', answer: one(SCHEDULE_OUTCOME) }, SCHEDULE_RUN, runSchedule),
  ],
};

async function listSchedules(context: Context): Promise<OneReply<typeof SCHEDULE_LIST>> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: value.crons, etag };
}

async function replaceSchedules(
  context: Context,
  body: ValueOf<typeof SCHEDULES>,
): Promise<OneReply<typeof SCHEDULE_LIST>> {
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
async function runSchedule(
  context: Context,
  body: ValueOf<typeof SCHEDULE_RUN>,
): Promise<OneReply<typeof SCHEDULE_OUTCOME>> {
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
