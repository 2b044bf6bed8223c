/** The Cache API of functions, from the function to the storage and back. */
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHostOptions } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, textOf } from '../new-host.js';

/** A function that runs the code that it is sent the name of, and answers what that returns, as JSON. */
async function functionWith(t: ExecutionContext, body: string, options: EdgeHostOptions = {}): Promise<EdgeFunction> {
  return await newHost(t, options).load(handler(`return Response.json(await (async () => { ${body} })())`));
}

async function resultOf(fn: EdgeFunction, path = ''): Promise<unknown> {
  return JSON.parse(await textOf(fn.fetch(`http://x/${path}`)));
}

const RUN = `
const shown = async response => response === undefined ? 'nothing' : {
  status: response.status,
  text: await response.text(),
  headers: Object.fromEntries([...response.headers].filter(([name]) => !['age', 'cache-status'].includes(name))),
};
const kept = (text, headers = {}, init = {}) => new Response(text, { headers: { 'cache-control': 'max-age=60', ...headers }, ...init });
const tried = async act => { try { return await act(); } catch (error) { return error.name + ': ' + error.message; } };
const KEY = 'https://example.com/a?b=1';
const cache = caches.default;
`;

for (const isolation of ISOLATIONS) {
  test(`put() keeps a response for match() and delete() removes it (${isolation})`, async t => {
    const fn = await functionWith(
      t,
      `${RUN}
      const before = await shown(await cache.match(KEY));
      const put = await cache.put(KEY, kept('hello', { 'x-own': 'ö', etag: '"1"' }, { status: 201, statusText: 'Made' }));
      const hit = await cache.match(new Request(KEY + '#part'));
      const head = [hit.statusText, hit.headers.get('age'), hit.headers.get('cache-status')];
      const immutable = await tried(() => hit.headers.set('a', 'b'));
      return [before, put === undefined, await shown(hit), head, immutable, await cache.delete(KEY), await cache.delete(KEY), await shown(await cache.match(KEY))];`,
      { isolation },
    );
    const [before, put, hit, head, immutable, ...rest] = (await resultOf(fn)) as [
      unknown,
      unknown,
      { status: number; text: string; headers: Record<string, string> },
      string[],
      string,
      ...unknown[],
    ]; // what the function above returns
    t.is(before, 'nothing');
    t.true(put);
    t.is(hit.status, 201);
    t.is(hit.text, 'hello');
    t.is(hit.headers['x-own'], 'ö');
    t.is(hit.headers['content-length'], '5');
    t.deepEqual(head, ['Made', '0', 'EdgeHost; hit']);
    t.regex(immutable, /immutable/);
    t.deepEqual(rest, [true, false, 'nothing']);
  });
}

test('a body of any size comes back, from strings, streams and answers of the host', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    const sizes = [];
    for (const size of [0, 1, 4096, 4097, 65536, 65537, 3_000_000]) {
      const bytes = new Uint8Array(size).map((_, at) => at % 251);
      await cache.put(KEY + size, kept(bytes));
      const stream = new ReadableStream({ type: 'bytes', start(c) { if (size > 0) c.enqueue(bytes.slice()); c.close(); } });
      await cache.put(KEY + 's' + size, kept(stream));
      // What came from the host goes back to it without passing the function.
      await cache.put(KEY + 'h' + size, await cache.match(KEY + size));
      for (const name of ['', 's', 'h']) {
        const found = await (await cache.match(KEY + name + size)).bytes();
        sizes.push(found.length === size && found.every((byte, at) => byte === at % 251));
      }
    }
    return sizes;`,
  );
  t.deepEqual(await resultOf(fn), Array(21).fill(true));
});

test('caches of other names are apart from each other and from the default one', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    const [a, b] = [await caches.open('a'), await caches.open('b\\n')];
    await a.put(KEY, kept('in a'));
    await b.put(KEY, kept('in b'));
    const long = await tried(() => caches.open('x'.repeat(1024)));
    return [await (await caches.open('a')).match(KEY).then(r => r.text()), await b.match(KEY).then(r => r.text()), await shown(await cache.match(KEY)), long, await tried(() => new Cache())];`,
  );
  t.deepEqual(await resultOf(fn), [
    'in a',
    'in b',
    'nothing',
    'TypeError: Cache name is too long.',
    'TypeError: Illegal constructor',
  ]);
});

test('functions of one account share their caches, and those of another account do not', async t => {
  const host = newHost(t);
  const source = handler(
    `const { pathname } = new URL(request.url);
     if (pathname === '/put') await caches.default.put('http://k/', new Response('mine', { headers: { 'cache-control': 'max-age=9' } }));
     return new Response(await (await caches.default.match('http://k/'))?.text() ?? 'nothing')`,
  );
  const one = await host.account('one').load(source, { name: 'a' });
  const same = await host.account('one').load(source, { name: 'b' });
  const other = await host.account('other').load(source);
  t.is(await textOf(one.fetch('http://x/put')), 'mine');
  t.is(await textOf(same.fetch('http://x/')), 'mine');
  t.is(await textOf(other.fetch('http://x/')), 'nothing');
});

test('put() refuses what no cache keeps, and keeps silently nothing of what must not be kept', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    const refused = [];
    const used = kept('x'); await used.text();
    for (const [key, response] of [
      [new Request(KEY, { method: 'POST' }), kept('')],
      [KEY, kept('', {}, { status: 206 })],
      [KEY, kept('', { vary: 'accept, *' })],
      [KEY, Response.error()],
      [KEY, 'text'],
      [KEY, used],
      ['/relative', kept('')],
      ['ftp://x/', kept('')],
    ]) refused.push(await tried(() => cache.put(key, response)));
    const dropped = [];
    for (const headers of [
      { 'cache-control': 'no-store' }, { 'cache-control': 'No-Cache' }, { 'cache-control': 'PRIVATE, max-age=9' }, { 'cache-control': 'max-age=0' },
      { 'cache-control': 's-maxage=0, max-age=9' }, { 'set-cookie': 'a=b' }, { 'cache-control': '', expires: 'Thu, 01 Jan 1970 00:00:00 GMT' },
    ]) {
      await cache.put(KEY, kept('old'));
      await cache.delete(KEY);
      await cache.put(KEY, kept('new', headers));
      dropped.push(await cache.match(KEY) === undefined);
    }
    await cache.put(KEY, new Response(null, { status: 304 }));
    return [refused, dropped, await shown(await cache.match(KEY))];`,
  );
  t.deepEqual(await resultOf(fn), [
    [
      'TypeError: Cannot cache response to non-GET request.',
      'TypeError: Cannot cache response to a range request (206 Partial Content).',
      "TypeError: Cannot cache response with 'Vary: *' header.",
      'TypeError: Cache is unable to store an error response',
      'TypeError: Cache.put: the second argument is not a Response',
      'TypeError: Cache.put: the body of the response has been read already, or is locked',
      'TypeError: Invalid URL. Cache API keys must be fully-qualified, valid URLs.',
      'TypeError: Invalid URL. Cache API keys must be fully-qualified, valid URLs.',
    ],
    Array(7).fill(true),
    'nothing',
  ]);
});

test('a response without a lifetime has that of its status, and private=Set-Cookie leaves the cookie out', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    const found = {};
    for (const status of [200, 301, 302, 303, 404, 410, 204, 307, 500]) {
      await cache.put(KEY + status, new Response(null, { status }));
      found[status] = (await cache.match(KEY + status))?.status;
    }
    await cache.put(KEY, new Response('x', { headers: { 'set-cookie': 'a=b', 'cache-control': 'private=Set-Cookie, max-age=5' } }));
    const hit = await cache.match(KEY);
    await cache.put(KEY + 500, kept('down', {}, { status: 500 }));
    return [found, hit.headers.getSetCookie(), await (await cache.match(KEY + 500)).text()];`,
  );
  t.deepEqual(await resultOf(fn), [{ 200: 200, 301: 301, 302: 302, 303: 303, 404: 404, 410: 410 }, [], 'down']);
});

test('only GET asks, unless ignoreMethod', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    await cache.put(KEY, kept('x'));
    const head = new Request(KEY, { method: 'HEAD' });
    return [await shown(await cache.match(head)), (await shown(await cache.match(head, { ignoreMethod: true }))).text,
      await cache.delete(head), await cache.delete(head, { ignoreMethod: true })];`,
  );
  t.deepEqual(await resultOf(fn), ['nothing', 'x', false, true]);
});

test('conditions are answered with 304, If-None-Match first', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    await cache.put(KEY, kept('x', { etag: 'W/"1"', 'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT' }));
    const statuses = [];
    for (const headers of [
      { 'if-none-match': '"1"' }, { 'if-none-match': '"0", W/"1"' }, { 'if-none-match': '*' }, { 'if-none-match': '"2"' },
      { 'if-modified-since': 'Wed, 21 Oct 2015 07:28:00 GMT' }, { 'if-modified-since': 'Wed, 21 Oct 2015 07:27:59 GMT' },
      { 'if-modified-since': 'nonsense' }, { 'if-modified-since': '13 Sep 2022 13:00:00 GMT' }, { 'if-modified-since': '2022-09-13T13:00:00Z' },
      { 'if-modified-since': 'Wednesday, 21-Oct-15 07:28:00 GMT' },
      { 'if-none-match': '"2"', 'if-modified-since': 'Wed, 21 Oct 2015 07:28:00 GMT' },
    ]) {
      const response = await cache.match(new Request(KEY, { headers }));
      statuses.push([response.status, await response.text(), response.headers.get('etag')]);
    }
    return statuses;`,
  );
  const not = [304, '', 'W/"1"'];
  const whole = [200, 'x', 'W/"1"'];
  t.deepEqual(await resultOf(fn), [not, not, not, whole, not, whole, whole, whole, whole, not, whole]);
});

test('ranges are answered with 206 and 416, and ignored where they have a syntax error', async t => {
  for (const size of [26, 100_000]) {
    const fn = await functionWith(
      t,
      `${RUN}
      const text = 'abcdefghijklmnopqrstuvwxyz'.padEnd(${size}, '.');
      await cache.put(KEY, kept(text, { etag: '"1"', 'content-type': 'text/x' }));
      const answers = [];
      for (const range of ['bytes=0-1', 'bytes=24-', 'bytes=-1', 'bytes=${size}-', 'bytes=5-2', 'lines=1-2', 'bytes=', 'bytes=0-${size * 2}']) {
        const response = await cache.match(new Request(KEY, { headers: { range } }));
        const body = await response.text();
        answers.push([response.status, response.headers.get('content-range'), body === text ? 'all' : body]);
      }
      const other = await cache.match(new Request(KEY, { headers: { range: 'bytes=0-1', 'if-range': '"2"' } }));
      const same = await cache.match(new Request(KEY, { headers: { range: 'bytes=0-1', 'if-range': '"1"' } }));
      const several = await cache.match(new Request(KEY, { headers: { range: 'bytes=0-1, 3-3' } }));
      const boundary = several.headers.get('content-type').split('boundary=')[1];
      const parts = (await several.text()).replaceAll(boundary, 'B');
      return [answers, other.status, same.status, several.status, parts, Number(several.headers.get('content-length')) - parts.length - 3 * (boundary.length - 1)];`,
    );
    const [answers, ...rest] = (await resultOf(fn)) as [unknown[], ...unknown[]]; // what the function above returns
    const tail = size === 26 ? ['yz', 'z'] : ['.'.repeat(99_976).replace(/^../, 'yz'), '.'];
    t.deepEqual(answers, [
      [206, `bytes 0-1/${size}`, 'ab'],
      [206, `bytes 24-${size - 1}/${size}`, tail[0]],
      [206, `bytes ${size - 1}-${size - 1}/${size}`, tail[1]],
      [416, `bytes */${size}`, ''],
      [200, null, 'all'],
      [200, null, 'all'],
      [200, null, 'all'],
      [206, `bytes 0-${size - 1}/${size}`, 'all'],
    ]);
    t.deepEqual(rest, [
      200,
      206,
      206,
      `--B\r\nContent-Type: text/x\r\nContent-Range: bytes 0-1/${size}\r\n\r\nab\r\n--B\r\nContent-Type: text/x\r\nContent-Range: bytes 3-3/${size}\r\n\r\nd\r\n--B--\r\n`,
      0,
    ]);
  }
});

for (const isolation of ISOLATIONS) {
  test(`a hit has the Content-Range of its own part alone (${isolation})`, async t => {
    const fn = await functionWith(
      t,
      `${RUN}
      const seen = [];
      for (const range of ['', 'bytes 0-9/10']) {
        await cache.put(KEY, kept('0123456789', { 'content-range': range }));
        for (const asked of ['bytes=2-5', 'bytes=50-', 'bytes=0-0,2-3', undefined]) {
          const hit = await cache.match(new Request(KEY, { headers: asked === undefined ? {} : { range: asked } }));
          seen.push([hit.status, hit.headers.get('content-range')]);
        }
      }
      return seen;`,
      { isolation },
    );
    const expected = [
      [206, 'bytes 2-5/10'],
      [416, 'bytes */10'],
      [206, null],
      [200, null],
    ];
    t.deepEqual(await resultOf(fn), [...expected, ...expected]);
  });
}

test('put() keeps nothing of a body that fails, and what was there before stays', async t => {
  const fn = await functionWith(
    t,
    `${RUN}
    await cache.put(KEY, kept('before'));
    const errors = [];
    for (const size of [10, 200_000]) {
      let n = 0;
      const body = new ReadableStream({ type: 'bytes', pull(c) { if (n++ > 2) c.error(new RangeError('broken')); else c.enqueue(new Uint8Array(size)); } });
      errors.push(await tried(() => cache.put(KEY, kept(body))));
    }
    return [errors, await (await cache.match(KEY)).text()];`,
  );
  t.deepEqual(await resultOf(fn), [Array(2).fill('RangeError: broken'), 'before']);
});
