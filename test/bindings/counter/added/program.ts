/** Uses the counters of a package that has them, with `backend` and storage from the arguments, and writes what it found as JSON. */

import { join } from 'node:path';
import process from 'node:process';
import { CounterError } from '../../../../src/bindings/counter/counter-store.js';
import { type CounterClient, EdgeHost, type EdgeHostOptions, type InvocationEvent } from '../../../../src/index.js';

const [mode, storage = '', folder = ''] = process.argv.slice(2);
const backend: NonNullable<EdgeHostOptions['backend']> = mode === 'process' ? 'process' : 'inline';

const host = new EdgeHost({ backend, storage: join(storage, backend), spareIsolates: 0 });
const acme = host.account('acme');
const fn = await acme.loadFile(folder);
const hits: CounterClient = acme.counter('hits');

const text = async (path: string, init?: RequestInit): Promise<string> =>
  (await fn.fetch(new Request(`https://example.com${path}`, init))).text();

const events: InvocationEvent[] = [];
host.on('invocation', event => events.push(event));

const application = await hits.add(40);
const called = {
  add: await text('/add'),
  bytes: await text('/bytes', { method: 'POST', body: 'abc' }),
  lines: await text('/lines'),
  over: await text('/over'),
};
const failure: unknown = await hits.add(2 ** 60).catch((error: unknown) => error);
const others = await host.account('other').counter('hits').add(1);

const management = host.management();
const tokens = {
  reads: (await management.issueToken({ account: 'acme', name: 'reads', permissions: ['counters:read'] })).value,
  edits: (await management.issueToken({ account: 'acme', name: 'edits', permissions: ['counters:edit'] })).value,
  else: (await management.issueToken({ account: 'acme', name: 'else', permissions: ['kv:edit'] })).value,
};

async function manage(token: keyof typeof tokens, path: string, by?: number): Promise<unknown> {
  const response = await management(
    new Request(`http://localhost/accounts/acme/counters/${path}`, {
      headers: { authorization: `Bearer ${tokens[token]}`, 'content-type': 'application/json' },
      ...(by !== undefined && { method: 'POST', body: JSON.stringify({ by }) }),
    }),
  );
  const { result, errors } = JSON.parse(await response.text());
  return [response.status, result ?? errors[0]?.message];
}

const managed = {
  read: await manage('reads', 'hits'),
  dozens: await manage('edits', 'hits?unit=dozen'),
  refusedQuery: await manage('reads', 'hits?unit=score'),
  refusedName: await manage('reads', 'HITS'),
  unknown: await manage('reads', 'none'),
  readByOther: await manage('else', 'hits'),
  addByReader: await manage('reads', 'hits/add', 5),
  add: await manage('edits', 'hits/add', 5),
  over: await manage('edits', 'hits/add', 2 ** 53 - 1),
};
const document = JSON.stringify(await management.openapi());

await host.close();
process.stdout.write(
  JSON.stringify({
    application,
    called,
    calls: events.map(({ calls }) => calls),
    error: failure instanceof CounterError && { code: failure.code, message: failure.message },
    others,
    managed,
    documented: ['counter-get', 'counters:edit', '#/components/schemas/CounterAdd', '"counter_name"'].filter(part =>
      document.includes(part),
    ),
  }),
);
