/** What outgoing fetch makes the host do for one account: sockets on every path, turns, and what is charged. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Egress } from '../../../src/bindings/egress/egress.js';
import { costOf, HOST_COSTS } from '../../../src/quotas/host/host-costs.js';
import { type CountedWork, countedWork } from '../counted-work.js';
import { addressOf, type Origin, outgoing, readRequest, readText, startEgress, startOrigin } from './origin-server.js';

const BODY_BYTES = 1_000_000;
/** undici opens a socket in place of one that was given up, and keeps it for so long: nothing here waits for that. */
const BRIEFLY = { allow: ['127.0.0.1'], keepAliveMs: 1 };

/** Answers `/stuck` never, `/half` with the beginning of a body, `/close` on a socket of its own, others with a body or what was sent. */
function start(t: ExecutionContext): Promise<Origin> {
  return startOrigin(t, (request, response) => {
    if (request.url === '/stuck') return;
    if (request.url === '/half') response.writeHead(200, { 'content-length': '100' }).write('half');
    else if (request.url === '/close') response.writeHead(200, { connection: 'close' }).end('ok');
    else if (request.method === 'POST') void readRequest(request).then(text => response.end(String(text.length)));
    else response.end(Buffer.alloc(BODY_BYTES, 'x'));
  });
}

async function* upload(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += 50_000) yield new Uint8Array(50_000);
}

type Way = (egress: Egress, origin: Origin, work: CountedWork, t: ExecutionContext) => Promise<void>;

const KEPT = 'is kept for the next request';
const WAYS: Readonly<Record<string, Way>> = {
  'is closed by the server': async (egress, origin, work, t) => {
    const response = await egress.fetch(outgoing(`${origin.url}close`, { work }));
    t.is(work.open, 1);
    t.is(await readText(response), 'ok');
    await until(() => work.open === 0);
  },
  [KEPT]: async (egress, origin, work, t) => {
    for (let request = 0; request < 3; request++) {
      await readText(await egress.fetch(outgoing(origin.url, { work })));
      // A socket is free a moment after its body has ended.
      await new Promise(resolve => setImmediate(resolve));
    }
    t.is(work.mostOpen, 1);
    await egress.close();
  },
  'is refused': async (egress, _origin, work, t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = addressOf(server);
    await new Promise(resolve => server.close(resolve));
    const request = outgoing(`http://127.0.0.1:${port}/`, { work });
    await t.throwsAsync(egress.fetch(request), { code: 'EDGE_EGRESS_FAILED' });
  },
  'is not allowed': async (egress, _origin, work, t) => {
    await t.throwsAsync(egress.fetch(outgoing('http://10.0.0.1/', { work })), { code: 'EDGE_EGRESS_DENIED' });
  },
  'is given up before it answers': async (egress, origin, work, t) => {
    const controller = new AbortController();
    const request = egress.fetch(outgoing(`${origin.url}stuck`, { work, signal: controller.signal }));
    await once(origin.server, 'request');
    controller.abort(new Error('given up'));
    await t.throwsAsync(request, { message: 'given up' });
    await until(() => work.open === 0);
  },
  'is left within a body': async (egress, origin, work, t) => {
    const { body } = await egress.fetch(outgoing(`${origin.url}half`, { work }));
    const iterator = body?.[Symbol.asyncIterator]();
    t.is(String((await iterator?.next())?.value), 'half');
    t.is(work.open, 1);
    await iterator?.return?.();
    await until(() => work.open === 0);
  },
  'is ended with the host': async (egress, origin, work, t) => {
    const request = egress.fetch(outgoing(`${origin.url}stuck`, { work }));
    await once(origin.server, 'request');
    await egress.close();
    await t.throwsAsync(request, { code: 'EDGE_EGRESS_FAILED' });
  },
};

for (const [name, way] of Object.entries(WAYS)) {
  test(`no descriptor is left when a socket ${name}`, async t => {
    const egress = startEgress(t, name === KEPT ? { allow: ['127.0.0.1'] } : BRIEFLY);
    const work = countedWork();
    await way(egress, await start(t), work, t);
    await egress.close();
    await until(() => work.open === 0);
    t.is(work.open, 0);
  });
}

test('fetch() rejects with EDGE_OVERLOADED when the account has as many descriptors as it may, and takes the last', async t => {
  const origin = await start(t);
  const egress = startEgress(t, { allow: ['127.0.0.1'] });
  const work = countedWork(2);
  const stuck = [1, 2].map(() => egress.fetch(outgoing(`${origin.url}stuck`, { work })).catch(() => 'closed'));
  while (origin.requests.length < 2) await once(origin.server, 'request');
  await t.throwsAsync(egress.fetch(outgoing(origin.url, { work })), { code: 'EDGE_OVERLOADED' });
  const other = outgoing(origin.url, { account: 'other', work: countedWork(1) });
  t.is((await readText(await egress.fetch(other))).length, BODY_BYTES);
  await egress.close();
  t.deepEqual(await Promise.all(stuck), ['closed', 'closed']);
  await until(() => work.open === 0);
});

test('bodies wait for the turn of the account piece by piece, both ways', async t => {
  const origin = await start(t);
  const egress = startEgress(t, { allow: ['127.0.0.1'] });
  const work = countedWork();
  work.hold();
  const sent = egress.fetch(outgoing(origin.url, { method: 'POST', body: upload(BODY_BYTES), work }));
  const received = egress.fetch(outgoing(origin.url, { work })).then(readText);
  await until(() => work.held === 2);
  // No other code waits for it.
  const other = outgoing(origin.url, { account: 'other', work: countedWork() });
  t.is((await readText(await egress.fetch(other))).length, BODY_BYTES);
  t.is(work.held, 2);
  work.go();
  t.is(await readText(await sent), String(BODY_BYTES));
  t.is((await received).length, BODY_BYTES);
});

test('a body that waits for its turn ends when it is given up', async t => {
  const origin = await start(t);
  const egress = startEgress(t, BRIEFLY);
  const work = countedWork();
  const { body } = await egress.fetch(outgoing(origin.url, { work }));
  const iterator = body?.[Symbol.asyncIterator]();
  work.hold();
  const next = iterator?.next();
  await until(() => work.held === 1);
  await iterator?.return?.();
  await until(() => work.open === 0);
  work.go();
  t.true((await next)?.done);
});

test('the work of requests and their bodies is charged', async t => {
  const origin = await start(t);
  const egress = startEgress(t, { allow: ['127.0.0.1'] });
  const fixed = HOST_COSTS.hopMs + HOST_COSTS.socketMs;
  const moved = costOf(BODY_BYTES, HOST_COSTS.movedMbMs);
  const sent = costOf(BODY_BYTES, HOST_COSTS.sentMbMs);
  // An account of its own has no socket yet.
  const spent = async (account: string, request: Parameters<typeof outgoing>[1] = {}): Promise<number> => {
    const work = countedWork();
    await readText(await egress.fetch(outgoing(origin.url, { ...request, account, work })));
    return work.spentMs;
  };
  const stream = await spent('streams', { method: 'POST', body: upload(BODY_BYTES) });
  t.true(stream >= fixed + sent + 20 * HOST_COSTS.chunkMs);
  t.true((await spent('sends bytes', { method: 'POST', body: new Uint8Array(BODY_BYTES) })) >= fixed + sent);
  const download = await spent('receives');
  t.true(download >= fixed + moved && download < 2 * (fixed + moved) + 100 * HOST_COSTS.chunkMs, `${download} ms`);
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
}
