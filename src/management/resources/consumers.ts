/** The queues that a function consumes. */

import { type Context, param } from '../context.js';
import type { Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { changeFunction } from './change-function.js';

export async function getConsumers(context: Context): Promise<Reply> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: value.consumers ?? [], etag };
}

export async function replaceConsumers(context: Context, consumers: Bodies['Consumers']): Promise<Reply> {
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
