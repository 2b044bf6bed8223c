/** `edgehost objects`, against the management API of a host. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'ava';
import { runEdgehost } from '../../src/cli/edgehost.js';
import { newHost } from '../host/new-host.js';
import { portOf } from '../servers.js';

const TOKEN = 'a-token-of-acme-that-may-read-its-objects';
const SOURCE = `import { StatefulObject } from 'edgehost:workers';
  export class Room extends StatefulObject {
    async keep() { await this.ctx.storage.put('value', 1); }
    async wake() { await this.ctx.storage.setAlarm(Date.now() + 3_600_000); }
    alarm() {}
  }
  export class Seat extends Room {}
  export default { fetch: () => new Response() };`;

test('edgehost objects list prints classes, and the objects of one page by page', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const fn = await host.account('acme').load(SOURCE, { name: 'chat' });
  const rooms = fn.objects('Room');
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) await rooms.getByName(name).rpc.keep();
  await fn.objects('Seat').getByName('s').rpc.wake();
  const ids = names.map(name => rooms.idFromName(name)).sort();
  const { listener } = host.management({
    tokens: [{ name: 'read', token: TOKEN, account: 'acme', permissions: ['objects:read'] }],
  });
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const account = `http://127.0.0.1:${portOf(server)}/accounts/acme`;
  const run = async (args: readonly string[], token = TOKEN) => {
    let out = '';
    let err = '';
    const code = await runEdgehost(['objects', ...args], {
      out: text => {
        out += text;
      },
      err: text => {
        err += text;
      },
      isTerminal: false,
      now: () => new Date(),
      env: { EDGEHOST_TOKEN: token },
      stopSignal: () => new AbortController().signal,
    });
    return { code, out, err };
  };

  const classes = await run(['list', `${account}/`]);
  t.is(classes.code, 0);
  t.regex(classes.out, /^[0-9a-f]{64} {2}chat\/Room\n[0-9a-f]{64} {2}chat\/Seat\n$/);
  const { namespaces } = JSON.parse((await run(['list', account, '--json'])).out);
  t.like(namespaces, [{ function: 'chat', class: 'Room' }, { class: 'Seat' }]);

  const first = await run(['list', account, 'chat/Room', '--limit', '2']);
  t.is(first.err, `edgehost objects: there are more: --cursor ${ids[1]}\n`);
  t.deepEqual(
    first.out.match(/^[0-9a-f]{64} {2}\d+ bytes {2}1 keys$/gm)?.map(line => line.slice(0, 64)),
    ids.slice(0, 2),
  );
  const second = await run(['list', account, namespaces[0].id, '--limit', '2', '--cursor', ids[1] ?? '', '--json']);
  t.like(JSON.parse(second.out), { objects: [{ id: ids[2], keys: 1 }, { id: ids[3] }], cursor: ids[3] });
  const all = await run(['list', account, 'chat/Room', '--limit', '2', '--all', '--json']);
  const pages = all.out.trim().split('\n');
  t.is(pages.length, 3);
  t.deepEqual(
    pages.flatMap(line => JSON.parse(line).objects.map((each: { readonly id: string }) => each.id)),
    ids,
  );
  t.is(all.err, '');
  t.regex((await run(['list', account, 'chat/Seat'])).out, /0 keys {2}alarm \d{4}-\d\d-\d\dT/);

  t.like(await run(['list', account, 'chat/None']), { code: 1, out: '' });
  t.regex((await run(['list', account, 'chat/None'])).err, /no class "chat\/None".*there are chat\/Room, chat\/Seat/);
  t.regex((await run(['list', account], 'no-token-at-all-but-long-enough-to-be-one')).err, /answered with status 401/);
  t.is((await run(['list', account], '')).code, 2);
  t.is((await run(['list', 'acme'])).code, 2);
  t.is((await run(['delete', account])).code, 2);
  t.is((await run(['list', account, 'chat/Room', '--limit', '1001'])).code, 2);
  t.regex((await run(['--help'])).out, /^Usage: edgehost objects/);
});
