/** `host.listener({ cache: true })`: responses that are kept in front of the function. */
import { EventEmitter, once } from 'node:events';
import type { ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { handler, newHost, nextInvocation } from '../new-host.js';
import { overBoth, type ProtocolClient } from '../protocols.js';

interface Site {
  readonly host: EdgeHost;
  /** How often the function has run, or is running. */
  readonly runs: () => number;
  /** Resolves when so many of its runs wait. */
  readonly waiting: (count: number) => Promise<void>;
  /** Lets those that wait go on. */
  readonly release: () => void;
  readonly origin: string;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Got>;
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What the cache says: `hit`, `stored`, or nothing. */
  readonly cache: string | undefined;
}

/** A function that counts its calls, and answers each with the number and with the headers of its query. */
const COUNTING = `
let count = 0;
export default { async fetch(request, env) {
  const number = ++count;
  const { searchParams } = new URL(request.url);
  if (searchParams.has('wait')) await env.APP.wait();
  const headers = [...searchParams].filter(([name]) => name.startsWith('h-')).map(([name, value]) => [name.slice(2), value]);
  for (let n = Number(searchParams.get('long') ?? 0); n > 0; n--) headers.push(['x-' + n, 'v'.repeat(200)]);
  if (searchParams.has('fail')) throw new Error('failed');
  const status = Number(searchParams.get('status') ?? 200);
  const size = Number(searchParams.get('size') ?? 0);
  const stream = size > 0 && new ReadableStream({ type: 'bytes', pull(c) { c.enqueue(new Uint8Array(65536)); if ((this.sent = (this.sent ?? 0) + 65536) >= size) c.close(); } });
  return new Response(stream || 'answer ' + number + ' ' + (request.headers.get('x-language') ?? ''), { status, headers });
} };`;

async function site(
  t: ExecutionContext,
  { listen, fetch }: ProtocolClient,
  options: EdgeHostOptions = {},
): Promise<Site> {
  const host = newHost(t, { isolation: 'thread', ...options });
  const changes = new EventEmitter();
  let held: (() => void)[] = [];
  const wait = async (): Promise<void> => {
    await new Promise<void>(resolve => {
      held.push(resolve);
      changes.emit('waits');
    });
  };
  const fn = await host.account('acme').load(COUNTING, { name: 'counting', bindings: { APP: { wait } } });
  let over = 0;
  host.on('invocation', () => over++);
  const origin = await listen(t, host.listener({ function: fn, cache: true }));
  const get: Site['get'] = async (path, headers = {}, method = 'GET') => {
    const response = await fetch(origin + path, { headers, method });
    const status = response.headers.get('cache-status') ?? undefined;
    const cache = status?.includes('hit') ? 'hit' : status?.split('; ')[2];
    return { status: response.status, headers: response.headers, text: await response.text(), cache };
  };
  const waiting = async (count: number): Promise<void> => {
    while (held.length < count) await once(changes, 'waits');
  };
  const release = (): void => {
    for (const go of held) go();
    held = [];
  };
  return { host, origin, get, waiting, release, runs: () => over + held.length };
}

const FRESH = 'h-cache-control=max-age=60';

overBoth('a response that says for how long is kept, and the function does not run for it again', async (t, client) => {
  const { get, runs } = await site(t, client);
  const first = await get(`/a?${FRESH}&h-x-own=1&h-etag="1"`);
  const second = await get(`/a?${FRESH}&h-x-own=1&h-etag="1"`);
  t.deepEqual([first.text, first.cache], ['answer 1 ', 'stored']);
  t.deepEqual([second.text, second.cache, second.status], ['answer 1 ', 'hit', 200]);
  t.is(second.headers.get('x-own'), '1');
  t.is(second.headers.get('age'), '0');
  t.is(second.headers.get('content-length'), '9');
  t.regex(second.headers.get('cache-status') ?? '', /^EdgeHost; hit; ttl=(?:60|59)$/);
  t.is(runs(), 1);
  t.is((await get(`/b?${FRESH}`)).cache, 'stored');
});

for (const [what, query, headers = {}] of [
  ['no lifetime', ''],
  ['no-store', 'h-cache-control=max-age=60,No-Store'],
  ['private', 'h-cache-control=Private,max-age=60'],
  ['a cookie', `${FRESH}&h-set-cookie=a=b`],
  ['a cookie, though public', 'h-cache-control=public,max-age=60&h-set-cookie=a=b'],
  ['Vary: *', `${FRESH}&h-vary=accept,*`],
  ['status 500', `${FRESH}&status=500`],
  ['status 206', `${FRESH}&status=206`],
  ['CDN-Cache-Control: no-store', `${FRESH}&h-cdn-cache-control=no-store`],
  ['Authorization in the request', FRESH, { authorization: 'Bearer x' }],
  ['a lifetime that is over', 'h-expires=Thu,%2001%20Jan%201970%2000:00:00%20GMT'],
] as const) {
  overBoth(`a response with ${what} is not kept`, async (t, client) => {
    const { get, runs } = await site(t, client);
    t.is((await get(`/?${query}`, headers)).cache, undefined);
    t.is((await get(`/?${query}`, headers)).cache, undefined);
    t.is(runs(), 2);
  });
}

for (const query of [
  'h-cache-control=no-store&h-cdn-cache-control=max-age=60',
  'h-cache-control=s-maxage=60,max-age=0',
]) {
  overBoth(`a response with ${query} is kept`, async (t, client) => {
    const { get } = await site(t, client);
    await get(`/?${query}`);
    t.is((await get(`/?${query}`)).cache, 'hit');
  });
}

overBoth('a kept response answers Authorization where it is public', async (t, client) => {
  const { get } = await site(t, client);
  const path = '/?h-cache-control=public,max-age=60';
  await get(path, { authorization: 'Bearer x' });
  t.is((await get(path)).cache, 'hit');
});

overBoth('other methods, and requests with bodies, go to the function', async (t, client) => {
  const { get, origin } = await site(t, client);
  const path = `/?${FRESH}`;
  await get(path);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) t.is((await get(path, {}, method)).cache, undefined);
  for (const headers of [{ 'content-length': '1' }, {}]) {
    const { body, answer } = client.open(origin + path, { headers }, true);
    body.write('x');
    body.end();
    t.is((await answer).fields.get('cache-status'), undefined);
  }
});

overBoth('HEAD has the head of what is kept, and keeps nothing itself', async (t, client) => {
  const { get } = await site(t, client);
  const path = `/?${FRESH}`;
  t.is((await get(path, {}, 'HEAD')).cache, undefined);
  t.is((await get(path)).cache, 'stored');
  const head = await get(path, { range: 'bytes=0-1' }, 'HEAD');
  t.deepEqual([head.status, head.cache, head.text, head.headers.get('content-length')], [200, 'hit', '', '9']);
  const large = `/?${FRESH}&size=300000`;
  await get(large);
  const largeHead = await get(large, {}, 'HEAD');
  t.deepEqual([largeHead.cache, largeHead.text, largeHead.headers.get('content-length')], ['hit', '', '327680']);
});

overBoth('conditions and ranges are answered from what is kept', async (t, client) => {
  const { get } = await site(t, client);
  const path = `/?${FRESH}&h-etag="1"`;
  t.is((await get(path, { 'if-none-match': '"1"' })).cache, undefined);
  await get(path);
  const not = await get(path, { 'if-none-match': '"1"' });
  t.deepEqual([not.status, not.text, not.cache], [304, '', 'hit']);
  const part = await get(path, { range: 'bytes=0-2' });
  t.deepEqual(
    [part.status, part.text, part.headers.get('content-range'), part.headers.get('content-length')],
    [206, 'ans', 'bytes 0-2/9', '3'],
  );
  t.is((await get(path, { range: 'bytes=9-' })).status, 416);
});

overBoth('a body that comes as a stream is kept as it passes', async (t, client) => {
  const { get } = await site(t, client);
  const path = `/?${FRESH}&size=3000000`;
  const first = await get(path);
  const second = await get(path);
  t.deepEqual([first.cache, first.text.length], ['stored', 3014656]);
  t.deepEqual([second.cache, second.text.length], ['hit', 3014656]);
});

overBoth('responses that vary are kept side by side', async (t, client) => {
  const { get } = await site(t, client);
  const path = `/?${FRESH}&h-vary=X-Language`;
  await get(path, { 'x-language': 'de' });
  await get(path, { 'x-language': 'fr' });
  t.like(await get(path, { 'x-language': 'de' }), { text: 'answer 1 de', cache: 'hit' });
  t.like(await get(path, { 'x-language': 'fr' }), { text: 'answer 2 fr', cache: 'hit' });
  t.like(await get(path, { 'x-language': 'it' }), { text: 'answer 3 it', cache: 'stored' });
});

overBoth('functions of one account, and of others, do not answer for each other', async (t, client) => {
  const host = newHost(t, { isolation: 'thread' });
  const answers = [];
  for (const [account, name] of [
    ['a', 'one'],
    ['a', 'two'],
    ['b', 'one'],
  ] as const) {
    const fn = await host
      .account(account)
      .load(handler(`return new Response('${account} ${name}', { headers: { 'cache-control': 'max-age=9' } })`), {
        name,
      });
    const origin = await client.listen(t, host.listener({ function: fn, cache: true }));
    answers.push(await (await client.fetch(origin, { headers: { host: 'x.example' } })).text());
    answers.push(await (await client.fetch(origin, { headers: { host: 'x.example' } })).text());
  }
  t.deepEqual(answers, ['a one', 'a one', 'a two', 'a two', 'b one', 'b one']);
});

overBoth('one request fetches what many wait for', async (t, client) => {
  const { get, runs, waiting, release } = await site(t, client);
  const path = `/?${FRESH}&wait=1`;
  const all = Array.from({ length: 20 }, () => get(path));
  await waiting(1);
  release();
  const answers = await Promise.all(all);
  t.deepEqual(new Set(answers.map(({ text }) => text)), new Set(['answer 1 ']));
  t.deepEqual(answers.map(({ cache }) => cache).sort(), [...Array(19).fill('hit'), 'stored']);
  t.is(runs(), 1);
});

overBoth(
  'those who wait run the function when the response may not be kept, and the next ones do not wait',
  async (t, client) => {
    const { get, waiting, release } = await site(t, client);
    const all = Array.from({ length: 5 }, () => get('/?wait=1'));
    await waiting(1);
    release();
    await waiting(4);
    release();
    t.is(new Set((await Promise.all(all)).map(({ text }) => text)).size, 5);
    const next = [get('/?wait=1'), get('/?wait=1')];
    await waiting(2);
    release();
    await Promise.all(next);
  },
);

overBoth('when the client that fetches goes away, another one fetches for the rest', async (t, client) => {
  const { get, origin, waiting, release } = await site(t, client);
  const path = `/?${FRESH}&wait=1`;
  const { leave } = client.open(origin + path);
  await waiting(1);
  const rest = Array.from({ length: 5 }, () => get(path));
  leave();
  await waiting(2);
  release();
  t.deepEqual(new Set((await Promise.all(rest)).map(({ text }) => text)), new Set(['answer 2 ']));
});

overBoth('a client that goes away in the middle of a body leaves nothing in the cache', async (t, client) => {
  const { origin, host } = await site(t, client);
  const over = nextInvocation(host);
  const { answer, leave } = client.open(`${origin}/?${FRESH}&size=300000000`);
  await (await answer).body[Symbol.asyncIterator]().next();
  leave();
  await over;
  t.is((await host.account('acme').caches.usage()).entries, 0);
});

const STALE = 'h-cache-control=max-age=0,stale-while-revalidate=60';

overBoth('what has expired is used while it is fetched anew, once, where the response allows it', async (t, client) => {
  const { get, host, runs, waiting, release } = await site(t, client);
  const path = `/?${STALE}&wait=1`;
  const first = get(path);
  await waiting(1);
  release();
  t.is((await first).text, 'answer 1 ');
  const stale = await Promise.all([get(path), get(path), get(path)]);
  for (const { text, cache } of stale) t.deepEqual([text, cache], ['answer 1 ', 'hit']);
  await waiting(1);
  t.is((await get(path, { 'if-none-match': '*' })).status, 304);
  t.is(runs(), 2);
  const over = nextInvocation(host);
  release();
  await over;
  let text = '';
  while (text !== 'answer 2 ') ({ text } = await get(path));
  await waiting(1);
  release();
});

overBoth(
  'what has expired and may not be kept any more is forgotten, and an error is no reason to',
  async (t, client) => {
    const { get, host } = await site(t, client);
    const { caches } = host.account('acme');
    const paths = ['/?x=ok', '/?x=gone'];
    t.plan(3);
    // The function answers otherwise from its second run on.
    const source = `let runs = 0; export default { fetch(request) {
    const isGone = request.url.includes('gone');
    if (++runs > 2) return isGone ? new Response('new') : new Response('error', { status: 503 });
    return new Response('old', { headers: { 'cache-control': 'max-age=0, stale-while-revalidate=60' } });
  } }`;
    await host.account('acme').load(source, { name: 'counting' });
    for (const path of paths) await get(path);
    t.is((await caches.usage()).entries, 2);
    for (const path of paths) {
      const over = nextInvocation(host);
      await get(path);
      await over;
    }
    while ((await caches.usage()).entries > 1) await get('/?x=ok');
    t.is((await get('/?x=gone')).text, 'new');
    t.is((await get('/?x=ok')).text, 'old');
  },
);

overBoth('purge() of the application forgets what is kept in front of functions', async (t, client) => {
  const { get, host } = await site(t, client);
  const path = `/a?${FRESH}&h-cache-tag=one,two`;
  const { caches } = host.account('acme');
  for (const purge of [{ everything: true as const }, { tags: ['TWO'] }]) {
    await get(path);
    t.is((await get(path)).cache, 'hit');
    t.deepEqual(await caches.purge(purge), { purged: 1 });
    t.is((await get(path)).cache, 'stored');
    await caches.purge({ everything: true });
  }
});

overBoth('what was being fetched when something was purged is not kept', async (t, client) => {
  const { get, host, waiting, release } = await site(t, client);
  const answer = get(`/?${FRESH}&wait=1`);
  await waiting(1);
  await host.account('acme').caches.purge({ tags: ['other'] });
  release();
  await answer;
  t.is((await host.account('acme').caches.usage()).entries, 0);
});

overBoth('a file beyond cacheFileBytes passes and is not kept; so many bytes are', async (t, client) => {
  const { get, host } = await site(t, client, { limits: { cacheFileBytes: 65_536 } });
  t.is((await get(`/?${FRESH}&size=65536`)).text.length, 65_536);
  t.is((await get(`/?${FRESH}&size=65536`)).cache, 'hit');
  const past = `/?${FRESH}&size=65537`;
  t.is((await get(past)).text.length, 131_072);
  t.is((await get(past)).text.length, 131_072);
  t.is((await host.account('acme').caches.usage()).entries, 1);
});

overBoth('a response with more headers than HTTP/2 sends is not kept', async (t, client) => {
  const { get, host } = await site(t, client);
  const status = client.protocol === 'HTTP/1.1' ? 200 : 502;
  for (let n = 0; n < 2; n++) t.like(await get(`/?${FRESH}&long=400`), { status, cache: undefined });
  t.is((await host.account('acme').caches.usage()).entries, 0);
  t.is((await get(`/?${FRESH}&long=250`)).cache, 'stored');
  t.is((await get(`/?${FRESH}&long=250`)).cache, 'hit');
});

overBoth('hits run nothing: they are no invocations and count for no quota', async (t, client) => {
  const { get, host } = await site(t, client, { plan: 'free', limits: { requestsPerDay: 2 } });
  const path = `/?${FRESH}`;
  await get(path);
  for (let n = 0; n < 5; n++) t.is((await get(path)).cache, 'hit');
  t.is(host.account('acme').stats().invocations, 1);
  t.is((await get('/other')).status, 200);
  t.not((await get('/more')).status, 200);
  t.is((await get(path)).cache, 'hit');
});

overBoth(
  'hits, stale ones, misses and bytes are in usage and in metrics, apart from invocations',
  async (t, client) => {
    const { host, get, runs } = await site(t, client);
    const size = 3 * 1024 * 1024;
    const { text } = await get(`/?${FRESH}`);
    await get(`/?${FRESH}`);
    await get(`/?${FRESH}`, {}, 'HEAD');
    await get(`/large?size=${size}&${FRESH}`);
    await get(`/large?size=${size}&${FRESH}`);
    await get('/not-kept');
    await get(`/stale?${STALE}`);
    const { text: stale } = await get(`/stale?${STALE}`);
    while (runs() < 5) await nextInvocation(host);
    const [total] = (await host.account('acme').usage({ by: 'total' })).records;
    const cacheBytes = text.length + size + stale.length;
    t.like(total, { invocations: 5, cacheHits: 4, cacheStaleHits: 1, cacheMisses: 4, cacheBytes });
    const metrics = host.metrics({ accounts: ['acme'] });
    t.regex(metrics, /^edgehost_cache_hits_total 4$/m);
    t.regex(metrics, /^edgehost_account_cache_misses_total\{account="acme"\} 4$/m);
    t.regex(metrics, /^edgehost_cache_bytes_total \d+$/m);
  },
);

overBoth('errors of the function are answered as without a cache', async (t, client) => {
  const { get } = await site(t, client);
  t.is((await get(`/?${FRESH}&fail=1`)).status, 500);
  t.is((await get(`/?${FRESH}&fail=1`)).cache, undefined);
});
