import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../src/index.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { newHost } from '../host/new-host.js';

const TOKEN = 't'.repeat(40);
const NAMESPACES = '/accounts/acme/objects/namespaces';
const SOURCE = `
  import { StatefulObject } from 'edgehost:workers';
  class Keeping extends StatefulObject {
    visits = 0;
    async keep(value) {
      this.visits++;
      await this.ctx.storage.put('value', value);
    }
    async alarmed() { await this.ctx.storage.setAlarm(Date.now() + 3_600_000); }
    async value() { return [this.visits, (await this.ctx.storage.get('value')) ?? null]; }
    alarm() {}
  }
  export class Room extends Keeping {}
  export class Seat extends Keeping {}
  export default { fetch: () => new Response() };`;

interface Answer {
  readonly result: Record<string, unknown>[];
  readonly result_info?: { readonly cursor?: string; readonly count: number };
}

for (const backend of ['inline', 'process'] as const) {
  test(`classes and their objects that have stored something are listed, and an object is deleted, by who may; backend: ${backend}`, async t => {
    const place = backend === 'process' && ({ backend, storage: await temporaryDirectory(t), usage: false } as const);
    await administerObjects(t, newHost(t, { isolation: backend === 'process' ? 'process' : 'thread', ...place }));
  });
}

async function administerObjects(t: ExecutionContext, host: EdgeHost): Promise<void> {
  const acme = host.account('acme');
  const fn = await acme.load(SOURCE, { name: 'chat' });
  const other = await host.account('other').load(SOURCE, { name: 'chat' });
  const caller = (permissions: 'all' | readonly ['objects:read'] | readonly ['kv:edit']) => {
    const api = host.management({ tokens: [{ name: 'a', token: TOKEN, account: 'acme', permissions }] });
    return (method: string, path: string): Promise<Response> =>
      api(
        new Request(`http://localhost${NAMESPACES}${path}`, { method, headers: { authorization: `Bearer ${TOKEN}` } }),
      );
  };
  const call = caller('all');
  const answerOf = async (path: string): Promise<Answer> => JSON.parse(await (await call('GET', path)).text());
  t.deepEqual((await answerOf('')).result, []);

  const rooms = fn.objects('Room');
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) await rooms.getByName(name).rpc.keep('x'.repeat(100));
  await fn.objects('Seat').getByName('a').rpc.alarmed();
  await other.objects('Room').getByName('a').rpc.keep(1);
  const { result: found } = await answerOf('');
  t.deepEqual(
    found.map(each => [each.function, each.class]),
    [
      ['chat', 'Room'],
      ['chat', 'Seat'],
    ],
  );
  const [room, seat] = found.map(({ id }) => `/${id}`);
  t.like(await answerOf(room ?? ''), { result: { class: 'Room' } });
  const [alarmed] = (await answerOf(`${seat}/objects`)).result;
  t.like(alarmed, { keys: 0 });
  t.true(Date.parse(String(alarmed?.alarm_on)) > Date.now());

  const seen: unknown[] = [];
  let bytes = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await answerOf(`${room}/objects?per_page=2${query}`);
    for (const object of page.result) {
      seen.push(object.id);
      t.is(object.keys, 1);
      bytes += Number(object.bytes);
    }
    cursor = page.result_info?.cursor;
  }
  const ids = names.map(name => rooms.idFromName(name)).sort();
  t.deepEqual(seen, ids);
  t.is((await acme.storage()).bytes, bytes + Number(alarmed?.bytes));

  const [first = ''] = ids;
  t.is((await caller(['objects:read'])('DELETE', `${room}/objects/${first}`)).status, 403);
  t.is((await caller(['kv:edit'])('GET', room ?? '')).status, 403);
  t.is((await call('DELETE', `${seat}/objects/${first}`)).status, 404);
  t.is((await call('DELETE', `${room}/objects/${first}`)).status, 200);
  t.is((await call('DELETE', `${room}/objects/${first}`)).status, 404);
  t.is((await answerOf(`${room}/objects`)).result.length, 4);
  // The instance that was there can write no more; the next one begins anew.
  await t.throwsAsync(async () => rooms.get(first).rpc.keep('again'), { code: 'EDGE_OBJECT_RESET' });
  t.deepEqual(await rooms.get(first).rpc.value(), [0, null]);

  const { id = '' } = alarmed ?? {};
  t.is((await call('DELETE', `${seat}/objects/${id}`)).status, 200);
  t.is((await call('GET', seat ?? '')).status, 404);
  t.is((await call('GET', `/${'0'.repeat(64)}/objects`)).status, 404);
}
