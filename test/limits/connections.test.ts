/** The specification's table "Connection pool of one invocation", through a real host and a server whose answers are scripted. */
import { once } from 'node:events';
import http from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHostOptions } from '../../src/index.js';
import { handler, newHost, nextInvocation } from '../host/new-host.js';
import { listen, portOf } from '../servers.js';

/** Answers when the test asks it to. */
class ScriptedServer {
  readonly arrived: string[] = [];
  readonly #waiting = new Map<string, (body: string) => void>();
  #onArrival: () => void = () => {};
  url = '';

  async start(t: ExecutionContext): Promise<this> {
    const server = http.createServer((request, response) => {
      const name = request.url?.slice(1) ?? '';
      this.arrived.push(name);
      if (name.startsWith('now')) response.end(`body of ${name}`);
      else this.#waiting.set(name, body => response.end(body));
      this.#onArrival();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${portOf(server)}`;
    return this;
  }

  async arrivals(count: number): Promise<void> {
    while (this.arrived.length < count) {
      await new Promise<void>(resolve => {
        this.#onArrival = resolve;
      });
    }
  }

  answer(name: string, body = name): void {
    this.#waiting.get(name)?.(body);
  }
}

const egress = { allow: ['127.0.0.0/8'] };

async function scripted(t: ExecutionContext, body: string, options: EdgeHostOptions = {}) {
  const server = await new ScriptedServer().start(t);
  const host = newHost(t, { egress, ...options });
  const fn = await host.load(handler(`const get = name => fetch('${server.url}/' + name); ${body}`));
  const event = nextInvocation(host);
  const answer = fn.fetch('http://x/').then(response => response.text());
  answer.catch(() => {});
  return { server, answer, event };
}

test('a seventh fetch waits until one of six has been read', async t => {
  const { server, answer, event } = await scripted(
    t,
    `const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
     return new Response((await Promise.all(names.map(async name => (await get(name)).text()))).join())`,
  );
  await server.arrivals(6);
  t.deepEqual([...server.arrived].sort(), ['a', 'b', 'c', 'd', 'e', 'f']);
  server.answer('c');
  await server.arrivals(7);
  t.is(server.arrived[6], 'g');
  server.answer('a');
  await server.arrivals(8);
  t.is(server.arrived[7], 'h');
  for (const name of 'bdefgh') server.answer(name);
  t.is(await answer, 'a,b,c,d,e,f,g,h');
  t.is((await event).connectionsWaited, 2);
});

test('an unread body holds its connection, however small, and reading it lets the next fetch go', async t => {
  const { server, answer } = await scripted(
    t,
    `const six = await Promise.all([1, 2, 3, 4, 5].map(n => get('now' + n)).concat(get('slow')));
     let seventh = 'waiting';
     const more = get('now7').then(async r => { seventh = await r.text() });
     const reader = six[5].body.getReader();
     const before = seventh;
     await six[0].text();
     await more;
     return new Response(before + ', ' + seventh)`,
  );
  await server.arrivals(6);
  t.false(server.arrived.includes('now7'));
  server.answer('slow');
  t.is(await answer, 'waiting, body of now7');
});

test('canceling a body frees its connection', async t => {
  const { answer, event } = await scripted(
    t,
    `const six = await Promise.all([1, 2, 3, 4, 5, 6].map(n => get('now' + n)));
     for (const response of six) await response.body.cancel();
     const more = await Promise.all([7, 8, 9, 10, 11, 12].map(n => get('now' + n)));
     return new Response(await more[5].text())`,
  );
  t.is(await answer, 'body of now12');
  t.is((await event).connectionsWaited, 0);
});

test('canceling a body whose server has fallen silent frees its connection, and closes that of the server', async t => {
  const closed: string[] = [];
  let onAllClosed: () => void = () => {};
  const areAllClosed = new Promise<void>(resolve => {
    onAllClosed = resolve;
  });
  const origin = await listen(t, (request, response) => {
    if (request.url === '/now') {
      response.end('answer');
      return;
    }
    response.write('begins ');
    response.once('close', () => {
      if (closed.push(request.url ?? '') === 6) onAllClosed();
    });
  });
  const host = newHost(t, { egress });
  const fn = await host.load(
    handler(
      `const six = await Promise.all([1, 2, 3, 4, 5, 6].map(n => fetch('${origin}/' + n)));
       for (const response of six) {
         const reader = response.body.getReader();
         await reader.read();
         reader.read();
         await reader.cancel();
       }
       const more = await Promise.all([1, 2, 3, 4, 5, 6].map(() => fetch('${origin}/now')));
       ctx.waitUntil(scheduler.wait(600_000));
       return new Response(await more[5].text())`,
    ),
  );
  t.is(await (await fn.fetch('http://x/')).text(), 'answer');
  await areAllClosed;
  t.deepEqual(closed.sort(), ['/1', '/2', '/3', '/4', '/5', '/6']);
});

test('with six unread bodies and a fetch that waits, the least recently used is canceled, and its later use throws', async t => {
  const { answer } = await scripted(
    t,
    `const six = [];
     for (const n of [1, 2, 3, 4, 5, 6]) six.push(await get('now' + n));
     const seventh = await (await get('now7')).text();
     const results = [];
     for (const response of six) results.push(await response.text().catch(error => error.message.slice(0, 25)));
     return Response.json([seventh, ...results])`,
  );
  t.deepEqual(JSON.parse(await answer), [
    'body of now7',
    'Cannot use the connection',
    ...[2, 3, 4, 5, 6].map(n => `body of now${n}`),
  ]);
});

test('a body that is being read is not canceled, however long its server takes', async t => {
  const { server, answer } = await scripted(
    t,
    `const five = [];
     for (const n of [1, 2, 3, 4, 5]) five.push(await get('now' + n));
     const slow = get('slow').then(response => response.text());
     const seventh = get('now7');
     const result = await slow;
     const canceled = await Promise.all(five.map(r => r.text().then(() => 0, () => 1)));
     await (await seventh).text();
     return new Response(result + canceled.join(''))`,
  );
  await server.arrivals(6);
  server.answer('slow', 'all of it ');
  t.is(await answer, 'all of it 00000');
});

test('a function that is busy when six answers come in loses none of them', async t => {
  const { answer } = await scripted(
    t,
    `const all = Array.from({ length: 12 }, async (_, n) => (await get('now' + n)).text());
     let sum = 0;
     for (let i = 0; i < 3e8; i++) sum += i;
     return Response.json(await Promise.all(all))`,
  );
  t.is(JSON.parse(await answer).length, 12);
});

test("with connectionSlotRelease: 'headers' an unread body holds nothing", async t => {
  const { answer, event } = await scripted(
    t,
    `const all = await Promise.all(Array.from({ length: 20 }, (_, n) => get('now' + n)));
     return Response.json(await Promise.all(all.map(r => r.text())))`,
    { connectionSlotRelease: 'headers' },
  );
  t.is(JSON.parse(await answer).length, 20);
  t.is((await event).outcome, 'ok');
});

test('buckets count: six unread objects and one more fetch cancel the first object', async t => {
  const host = newHost(t);
  await host.bucket('files').put('key', 'x'.repeat(300_000));
  const fn = await host.load(
    handler(`const six = [];
      for (let n = 0; n < 6; n++) six.push(await env.FILES.get('key'));
      const head = await env.FILES.head('key');
      return Response.json([head.size, ...await Promise.all(six.map(o => o.text().then(t => t.length, e => e.message.slice(0, 25))))])`),
    { buckets: { FILES: 'files' } },
  );
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [
    300_000,
    'Cannot use the connection',
    ...Array(5).fill(300_000),
  ]);
});

test('the next invocation begins with six free connections, whatever the last one left unread', async t => {
  const server = await new ScriptedServer().start(t);
  const host = newHost(t, { egress });
  const fn = await host.load(
    handler(
      `await Promise.all([1, 2, 3, 4, 5, 6].map(n => fetch('${server.url}/now' + n))); return new Response('ok')`,
    ),
  );
  for (let round = 0; round < 3; round++) t.is(await (await fn.fetch('http://x/')).text(), 'ok');
});
