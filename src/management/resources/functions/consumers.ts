/** The queues that a function consumes. */

import { WRITTEN_CONSUMERS } from '../../../config-schema/consumer-shapes.js';
import { type Context, param } from '../../context.js';
import type { OneReply } from '../../http/envelope.js';
import { FUNCTION_PATH, one, type Resource, route, routeWithBody } from '../../route.js';
import { body, named, type ValueOf } from '../../schemas.js';
import { changeFunction } from './change-function.js';

const CONSUMERS = body('Consumers', WRITTEN_CONSUMERS, [{ queue: 'jobs', max_batch_size: 100 }]);
const CONSUMER_LIST = named('ConsumerList', WRITTEN_CONSUMERS);

export const CONSUMERS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/consumers`, id: 'consumer-list', access: 'functions:read', summary: 'Queues that a function consumes', answer: one(CONSUMER_LIST) }, getConsumers),
    routeWithBody({ method: 'PUT', path: `${FUNCTION_PATH}/consumers`, id: 'consumer-replace', access: 'functions:edit', summary: 'Replace the queues that a function consumes', answer: one(CONSUMER_LIST) }, CONSUMERS, replaceConsumers),
  ],
};

async function getConsumers(context: Context): Promise<OneReply<typeof CONSUMER_LIST>> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: value.consumers ?? [], etag };
}

async function replaceConsumers(
  context: Context,
  consumers: ValueOf<typeof CONSUMERS>,
): Promise<OneReply<typeof CONSUMER_LIST>> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  return changeFunction(context, async (name, stored) => {
    const record = { ...stored, modified_on: now().toISOString(), consumers };
    const put = stores.functions.put([account, name], record);
    const triggers = { ...(await functionStore.triggers(account, name)), consumers };
    await functionStore.setTriggers(account, name, triggers, () => context.commit([put.operation]));
    return { result: consumers, etag: put.etag };
  });
}
