/** The counters of an account: the module of a resource, which is in src/management/resources when the binding is added to the package. */

import { counterBinding } from '../../bindings/counter/counter-binding.js';
import type { Counter } from '../../bindings/counter/counter-store.js';
import { choice, object } from '../../quotas/schema/schema.js';
import { type Context, param } from '../context.js';
import { ApiError, type OneReply } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, one, type QueryOf, type Resource, route, routeWithBody } from '../route.js';
import { body, integer, named, string, type ValueOf } from '../schemas.js';

const COUNTER_PATH = `${ACCOUNT_PATH}/counters/{counter_name}`;
const COUNTER_QUERY = { unit: choice(['one', 'dozen']) };

const COUNTER_ADD = body('CounterAdd', object({ by: integer }), { by: 2 });
const COUNTER = named('Counter', object({ name: string, total: integer }));

export const COUNTERS_API: Resource = {
  parameters: { counter_name: parameter('^[a-z]{1,63}$', 'hits') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: COUNTER_PATH, id: 'counter-get', access: 'counters:read', summary: 'A counter', query: COUNTER_QUERY, answer: one(COUNTER) }, getCounter),
    routeWithBody({ method: 'POST', path: `${COUNTER_PATH}/add`, id: 'counter-add', access: 'counters:edit', summary: 'Add to a counter', answer: one(COUNTER) }, COUNTER_ADD, addToCounter),
  ],
};

async function getCounter(context: Context<QueryOf<typeof COUNTER_QUERY>>): Promise<OneReply<typeof COUNTER>> {
  const counter = await find(context);
  const found = await counter.read();
  found?.content.release();
  const total = found?.total ?? 0;
  return { result: { name: counter.name, total: context.query.unit === 'dozen' ? Math.floor(total / 12) : total } };
}

async function addToCounter(context: Context, { by }: ValueOf<typeof COUNTER_ADD>): Promise<OneReply<typeof COUNTER>> {
  const counter = await find(context);
  const total = await counter.add(by);
  await context.commit([]);
  return { result: { name: counter.name, total } };
}

async function find(context: Context): Promise<Counter> {
  const name = param(context, 'counter_name');
  const counter = await context.services.directoryOf(counterBinding, context.account).find(name);
  if (counter === null) throw new ApiError('NOT_FOUND', `There is no counter ${JSON.stringify(name)}`);
  return counter;
}
