/** Functions of the application, called by functions as `env.APP.name(args)`. */
import { Readable } from 'node:stream';
import test from 'ava';
import type { ApplicationCallbacks, CallbackContext } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../../host/new-host.js';

/** A function that calls `run` with the argument that `value` makes, and answers what `show` makes of the result. */
function calling(value: string, show = 'result => Response.json(result)', name = 'run'): string {
  return handler(`
    const value = await (async () => (${value}))();
    try {
      return (${show})(await env.APP.${name}(value));
    } catch (error) {
      return Response.json({ name: error.name, message: error.message, code: error.code, isError: error instanceof Error });
    }
  `);
}

const THREADS = { isolation: 'thread' } as const;

for (const isolation of ISOLATIONS) {
  test(`a function calls the application and gets what it answers (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(calling('{ id: 7, tags: ["a"] }'), {
      bindings: {
        APP: { run: async ({ id, tags }: { id: number; tags: string[] }) => ({ id: id + 1, tags: [...tags, 'b'] }) },
      },
    });
    t.is(await textOf(fn.fetch('http://x/')), '{"id":8,"tags":["a","b"]}');
  });

  test(`bytes and a stream go both ways (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const bindings = {
      APP: {
        async run({ head, stream }: { head: Uint8Array; stream: ReadableStream<Uint8Array> }) {
          const text = await new Response(stream).text();
          return {
            head: head.map(byte => byte + 1),
            length: text.length,
            stream: Readable.from([Buffer.from('ab'), Buffer.from('cd')]),
          };
        },
      },
    };
    const show = `async ({ head, length, stream }) =>
      Response.json([head instanceof Uint8Array, [...head], length, await new Response(stream).text()])`;
    const own = calling('{ head: new Uint8Array([1, 2]), stream: new Blob(["x".repeat(300000)]).stream() }', show);
    t.is(await textOf((await host.load(own, { bindings })).fetch('http://x/')), '[true,[2,3],300000,"abcd"]');
    const passedOn = calling('{ head: new Uint8Array([1, 2]), stream: request.body }', show);
    const body = 'y'.repeat(200_000);
    const fn = await host.load(passedOn, { bindings });
    t.is(await textOf(fn.fetch('http://x/', { method: 'POST', body })), '[true,[2,3],200000,"abcd"]');
  });

  test(`an error crosses by name and message alone (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    class NotFoundError extends Error {
      override name = 'NotFoundError';
      readonly code = 'SECRET';
    }
    const kinds: Record<string, () => unknown> = {
      async own() {
        throw new NotFoundError('no such customer', { cause: new Error('inside') });
      },
      type() {
        throw new TypeError('a number is needed');
      },
      text: () => Promise.reject('only text'),
      hostile() {
        throw Object.create(null);
      },
      getter() {
        throw Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('inner');
          },
        });
      },
    };
    const source = handler(`
      const seen = [];
      for (const name of Object.keys(env.APP)) {
        await env.APP[name]().catch(error => seen.push([error.name, error.message, error.code, error instanceof Error, error instanceof TypeError, error.cause]));
      }
      return Response.json(seen);
    `);
    const fn = await host.load(source, { bindings: { APP: kinds } });
    t.deepEqual(await (await fn.fetch('http://x/')).json(), [
      ['NotFoundError', 'no such customer', null, true, false, null],
      ['TypeError', 'a number is needed', null, true, true, null],
      ['Error', 'only text', null, true, false, null],
      ['Error', 'The application threw a value that cannot be converted to a string', null, true, false, null],
      ['Error', 'The application threw a value that cannot be converted to a string', null, true, false, null],
    ]);
  });

  test(`ctx.props is what load() and fetch() pass along, a copy for each event (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source = handler(`
      const { props } = ctx;
      const before = JSON.stringify(props);
      props.changed = true;
      return Response.json([before, ctx.props === props, request.headers.get('x-a'), Object.getPrototypeOf(props) === Object.prototype]);
    `);
    const seen = async (promise: Promise<Response>) => JSON.parse(await textOf(promise));
    const plain = await host.load(source);
    t.deepEqual(await seen(plain.fetch('http://x/')), ['{}', true, null, true]);
    const fn = await host.load(source, { props: { user: 'ä' } });
    for (let i = 0; i < 2; i++) t.deepEqual(await seen(fn.fetch('http://x/')), ['{"user":"ä"}', true, null, true]);
    const headers = { 'x-a': '1' };
    t.deepEqual(await seen(fn.fetch('http://x/', { headers, props: { line: 'a\nb — c', n: [1] } })), [
      '{"line":"a\\nb — c","n":[1]}',
      true,
      '1',
      true,
    ]);
    t.deepEqual(await seen(fn.fetch(new Request('http://x/', { headers }), { props: {} })), ['{}', true, '1', true]);
  });
}

test('a callback learns whose call it is', async t => {
  const host = newHost(t, THREADS);
  const seen: CallbackContext[] = [];
  const bindings = { APP: { run: (_args: unknown, context: CallbackContext) => void seen.push(context) } };
  const acme = host.account('acme');
  const fn = await acme.load(calling('1', 'result => Response.json(result === undefined)'), {
    name: 'f',
    bindings,
    props: { tier: 1 },
  });
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), 'true');
  const { invocation, subrequests } = await event;
  t.like(seen[0], { account: 'acme', function: 'f', invocation, props: { tier: 1 } });
  t.is(subrequests, 1);
  await textOf(fn.fetch('http://x/', { props: { tier: 2 } }));
  t.deepEqual(seen[1]?.props, { tier: 2 });
});

const VALUES: readonly (readonly [value: string, isSame: string])[] = [
  ['undefined', 'value === undefined'],
  [
    '[1, -0, NaN, Infinity, -Infinity, 2 ** 60, "\\u2028ä", null, undefined]',
    'Object.is(value[1], -0) && Number.isNaN(value[2]) && value[4] === -Infinity && value[6] === "\\u2028ä" && value.length === 9 && value[8] === undefined',
  ],
  ['[10n ** 30n, -5n, 0n]', 'value[0] === 10n ** 30n && value[1] === -5n && value[2] === 0n'],
  ['new Date(5)', 'value instanceof Date && value.getTime() === 5'],
  ['new Date(NaN)', 'value instanceof Date && Number.isNaN(value.getTime())'],
  [
    'new Map([[{ a: 1 }, new Set([1, "b"])]])',
    'value instanceof Map && [...value][0][0].a === 1 && [...value][0][1].has("b")',
  ],
  [
    '(() => { const a = { list: [] }; a.self = a; a.list.push(a.list); return a; })()',
    'value.self === value && value.list[0] === value.list',
  ],
  ['(() => { const shared = {}; return [shared, shared]; })()', 'value[0] === value[1]'],
  [
    'Object.assign(new RangeError("far", { cause: 5 }), { extra: 1 })',
    'value instanceof Error && value.name === "RangeError" && value.message === "far" && value.cause === 5 && value.extra === undefined',
  ],
  [
    '[new Float64Array([1.5]), new Uint16Array([1, 2]).subarray(1), new DataView(new ArrayBuffer(3)), new Uint8Array([9]).buffer, new Uint8ClampedArray(0)]',
    'value[0][0] === 1.5 && value[1].length === 1 && value[1][0] === 2 && value[2].byteLength === 3 && new Uint8Array(value[3])[0] === 9 && value[4].length === 0',
  ],
  [
    '{ constructor: 1, toString: 2, then: 3, hasOwnProperty: 4, length: 5 }',
    'value.constructor === 1 && value.toString === 2 && value.then === 3 && value.hasOwnProperty === 4 && value.length === 5',
  ],
  [
    'Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } })',
    'value.own === 2 && value.inherited === undefined',
  ],
  [
    'new (class A { x = 1; get y() { return 2; } })()',
    'value.x === 1 && value.y === undefined && Object.getPrototypeOf(value) === Object.prototype',
  ],
  ['{ get a() { return [1]; } }', 'value.a[0] === 1'],
  ['[1, undefined, 3]', 'value.length === 3 && 1 in value && value[1] === undefined'],
];

/** A function that calls `run` with the value of this number, and answers what `show` makes of the result. */
function callingEach(values: readonly string[], show: string): string {
  return handler(`
    const values = [${values.map(value => `() => (${value})`).join(', ')}];
    const number = Number(new URL(request.url).pathname.slice(1));
    try {
      return Response.json((${show})(await env.APP.run(values[number]()), number));
    } catch (error) {
      return Response.json({ name: error.name, message: error.message });
    }
  `);
}

test('a value comes back as it went, in both directions', async t => {
  const host = newHost(t, THREADS);
  let arrived: unknown;
  const bindings = {
    APP: {
      run(args: unknown) {
        arrived = args;
        return args;
      },
    },
  };
  const checks = VALUES.map(([, isSame]) => `value => ${isSame}`).join(', ');
  const values = VALUES.map(([value]) => value);
  const fn = await host.load(callingEach(values, `(value, number) => [${checks}][number](value)`), { bindings });
  for (const [number, [value, isSame]] of VALUES.entries()) {
    t.is(await textOf(fn.fetch(`http://x/${number}`)), 'true', value);
    t.true(new Function('value', `return ${isSame}`)(arrived), `at the application: ${value}`);
  }
});

const REFUSED: readonly (readonly [value: string, name: string, message: RegExp])[] = [
  ['() => {}', 'DataCloneError', /A function cannot be passed/],
  ['[Symbol("x")]', 'DataCloneError', /A symbol cannot be passed/],
  ['/a+/', 'DataCloneError', /A RegExp cannot be passed/],
  ['new WeakMap()', 'DataCloneError', /A WeakMap cannot be passed/],
  ['Promise.resolve(1).constructor === 1 ? 0 : [Promise.resolve()]', 'DataCloneError', /cannot be cloned/],
  ['[new Response("x")]', 'DataCloneError', /cannot be cloned/],
  ['JSON.parse(\'{"a":{"__proto__":{"admin":true}}}\')', 'DataCloneError', /"__proto__"/],
  ['(() => { let a = []; for (let i = 0; i < 200; i++) a = [a]; return a; })()', 'RangeError', /more than 100 levels/],
  [
    '(() => { let a = []; for (let i = 0; i < 200000; i++) a = [a]; return a; })()',
    'RangeError',
    /more than 100 levels/,
  ],
  ['new Array(4294967295)', 'RangeError', /more than 100000 items/],
  [
    'new Proxy([], { get: (target, key) => (key === "length" ? NaN : undefined) })',
    'RangeError',
    /more than 100000 items/,
  ],
  ['Array.from({ length: 10000 }, () => new Map())', 'RangeError', /more than 10000 objects, or 100000 items/],
  [
    '[new Set(["a"]), Array.from({ length: 60000 }, () => "a"), Array.from({ length: 60000 }, () => "b")]',
    'RangeError',
    /100000 items and/,
  ],
  ['Array.from({ length: 10000 }, () => undefined)', 'RangeError', /more than 10000 objects/],
  ['{ get a() { throw new TypeError("from a getter"); } }', 'TypeError', /from a getter/],
  ['new Uint8Array(17 * 1024 * 1024)', 'RangeError', /at most 1000 of 16777216 bytes/],
  ['"x".repeat(1100000)', 'TypeError', /The arguments of call are \d+ bytes as JSON, at most 1048576/],
  ['2n ** 20000n', 'RangeError', /BigInt of more than/],
  ['(() => { const s = new Blob(["a"]).stream(); s.getReader(); return s; })()', 'DataCloneError', /locked/],
  ['[new Blob(["a"]).stream(), new Blob(["b"]).stream()]', 'DataCloneError', /Only one stream/],
];

test('what cannot be passed is refused with the reason, and never reaches the application', async t => {
  const host = newHost(t, { ...THREADS, limits: { cpuMs: 60_000 } });
  let calls = 0;
  const values = REFUSED.map(([value]) => value);
  const fn = await host.load(callingEach([...values, '1'], 'value => value'), {
    bindings: { APP: { run: () => ++calls } },
  });
  for (const [number, [value, name, message]] of REFUSED.entries()) {
    const answer = JSON.parse(await textOf(fn.fetch(`http://x/${number}`)));
    t.is(answer.name, name, value);
    t.regex(answer.message, message, value);
  }
  t.is(calls, 0);
  t.is(await textOf(fn.fetch(`http://x/${REFUSED.length}`)), '1');
});

test('more than one argument is refused', async t => {
  const host = newHost(t, THREADS);
  const source = handler('return new Response(await env.APP.run(1, 2).catch(String))');
  const fn = await host.load(source, { bindings: { APP: { run: () => 1 } } });
  t.is(
    await textOf(fn.fetch('http://x/')),
    'TypeError: APP.run() takes one argument, it was called with 2: pass an object',
  );
});

test('a result that cannot be passed is an error that names its place', async t => {
  const host = newHost(t, THREADS);
  const source = handler(`
    const seen = [];
    for (const name of Object.keys(env.APP)) await env.APP[name]().then(seen.push, error => seen.push(String(error)));
    return Response.json(seen);
  `);
  let deep: unknown[] = [];
  for (let i = 0; i < 200; i++) deep = [deep];
  const fn = await host.load(source, {
    bindings: {
      APP: {
        callable: () => ({ rows: [{ save() {} }] }),
        large: () => 'x'.repeat(1_100_000),
        deep: () => deep,
        bytes: () => new Uint8Array(17 * 1024 * 1024),
      },
    },
  });
  const seen: unknown = await (await fn.fetch('http://x/')).json();
  t.like(seen, {
    0: 'TypeError: The result of callable().rows[0].save is a function, which cannot be passed to a function',
    1: 'RangeError: The result of large() has 1100002 characters as JSON, at most 1048576 are passed: answer with bytes or a stream',
  });
  t.regex(String(Array.isArray(seen) ? seen[2] : ''), /nested more than 100 levels deep/);
  t.regex(String(Array.isArray(seen) ? seen[3] : ''), /at most 1000 of 16777216 bytes/);
});

test('load() refuses callbacks that functions could not call', async t => {
  const host = newHost(t, THREADS);
  class Api {
    async run() {}
  }
  const load = (app: object) => host.load(handler('return 1'), { bindings: { APP: app as ApplicationCallbacks } });
  await t.throwsAsync(load({ run: 5 }), {
    instanceOf: TypeError,
    message: /Option bindings\.APP\.run of load\(\) is .*5, expected a function/,
  });
  await t.throwsAsync(load(Object.fromEntries([['then', () => 1]])), { instanceOf: TypeError, message: /"then"/ });
  await t.throwsAsync(load(JSON.parse('{"__proto__":1}')), { instanceOf: TypeError });
  await t.throwsAsync(load(Object.defineProperty({}, '__proto__', { value: () => 1, enumerable: true })), {
    instanceOf: TypeError,
  });
  await t.throwsAsync(load({ 'a b': () => 1 }), { instanceOf: TypeError, message: /"a b"/ });
  await t.throwsAsync(load(new Api()), { instanceOf: TypeError, message: /plain object/ });
  await t.throwsAsync(host.load(handler('return 1'), { bindings: { APP: {} }, vars: { APP: '1' } }), {
    message: /"APP" is listed twice/,
  });
});

test('env.APP has the callbacks of the load and nothing else, and is not taken for a promise', async t => {
  const host = newHost(t, THREADS);
  const app: Record<string, () => unknown> = { run: () => 'first', constructor: () => 'own', toString: () => 'text' };
  const fn = await host.load(
    handler(`
      const same = (await env.APP) === env.APP;
      'use strict';
      const changed = Reflect.set(env.APP, 'run', 1) || Reflect.deleteProperty(env.APP, 'run');
      return Response.json([same, changed, Object.keys(env.APP), await env.APP.run(), await env.APP.constructor(), typeof env.APP.added, env.APP.run.name]);
    `),
    { bindings: { APP: app } },
  );
  app.run = () => 'second';
  app.added = () => 'added';
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [
    true,
    false,
    ['run', 'constructor', 'toString'],
    'first',
    'own',
    'undefined',
    'run',
  ]);
});

test('calls count as internal subrequests', async t => {
  const host = newHost(t, THREADS);
  const fn = await host.load(
    handler(
      'for (let i = 0; ; i++) try { await env.APP.run() } catch (error) { return Response.json([i, error.code]) }',
    ),
    { bindings: { APP: { run: () => 1 } }, limits: { internalSubrequests: 3, subrequests: 0 } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '[3,"EDGE_SUBREQUEST_LIMIT"]');
});

test('a callback is called in no global scope', async t => {
  const host = newHost(t, THREADS);
  // A classic script has its bindings as globals.
  const source = `let said; APP.run().catch(error => { said = String(error) });
    addEventListener('fetch', event => event.respondWith(new Response(said)));`;
  const fn = await host.load(source, { bindings: { APP: { run: () => 1 } } });
  t.regex(await textOf(fn.fetch('http://x/')), /not allowed in the global scope/);
});

test('a callback that never settles ends with EDGE_CALLBACK_TIMEOUT, its signal fires, and its place is free again', async t => {
  const host = newHost(t, { ...THREADS, callbacks: { timeoutMs: 20, concurrency: 1 } });
  const signals: AbortSignal[] = [];
  let settle = (_value: unknown): void => {};
  const bindings = {
    APP: {
      run(_args: unknown, { signal }: CallbackContext) {
        signals.push(signal);
        return new Promise(resolve => {
          settle = resolve;
        });
      },
      quick: () => 'quick',
    },
  };
  const fn = await host.load(calling('1'), { bindings });
  for (let i = 0; i < 10; i++) {
    t.like(await (await fn.fetch('http://x/')).json(), { code: 'EDGE_CALLBACK_TIMEOUT' });
    t.true(signals[i]?.aborted);
    t.like(signals[i]?.reason, { code: 'EDGE_CALLBACK_TIMEOUT' });
  }
  // Ten times as many as may be under way are left unsettled: no more are begun until one settles.
  t.like(await (await fn.fetch('http://x/')).json(), {
    code: 'EDGE_OVERLOADED',
    message: 'Cannot call the application for account "default": 10 abandoned calls have not settled',
  });
  settle(1);
  await new Promise(resolve => setImmediate(resolve));
  t.like(await (await fn.fetch('http://x/')).json(), { code: 'EDGE_CALLBACK_TIMEOUT' });
});

test('more calls at once than allowed are refused, by account', async t => {
  const host = newHost(t, { ...THREADS, callbacks: { concurrency: 2 } });
  const releases: (() => void)[] = [];
  const bindings = { APP: { run: () => new Promise<string>(resolve => releases.push(() => resolve('ok'))) } };
  const source = handler(`
    return Response.json(await Promise.all([1, 2, 3].map(() => env.APP.run().catch(error => error.code))));
  `);
  const [a, b] = [host.account('a'), host.account('b')];
  const answers = [await a.load(source, { bindings }), await b.load(source, { bindings })].map(fn =>
    textOf(fn.fetch('http://x/')),
  );
  while (releases.length < 4) await new Promise(resolve => setImmediate(resolve));
  for (const release of releases) release();
  for (const answer of answers) t.is(await answer, '["ok","ok","EDGE_OVERLOADED"]');
});

test('a caller that ends meanwhile aborts the signal of its callback', async t => {
  const host = newHost(t, THREADS);
  let tell = (_signal: AbortSignal): void => {};
  const signal = new Promise<AbortSignal>(resolve => {
    tell = resolve;
  });
  const bindings = {
    APP: {
      run(_args: unknown, context: CallbackContext) {
        tell(context.signal);
        return new Promise(() => {});
      },
    },
  };
  const fn = await host.load(calling('1'), { bindings });
  const controller = new AbortController();
  const fetching = fn.fetch('http://x/', { signal: controller.signal });
  const seen = await signal;
  controller.abort();
  await t.throwsAsync(fetching, { any: true, name: 'AbortError' });
  if (!seen.aborted) await new Promise(resolve => seen.addEventListener('abort', resolve));
  t.true(seen.aborted);
});

test('streams that error fail whoever reads them, and are ended when nobody does', async t => {
  const host = newHost(t, THREADS);
  let cancelled = 0;
  const bindings = {
    APP: {
      broken: () => new ReadableStream({ pull: controller => controller.error(new Error('inside')) }),
      text: () => new ReadableStream({ pull: controller => controller.enqueue(5) }),
      endless: () =>
        new ReadableStream({
          pull: controller => controller.enqueue(new Uint8Array(1000)),
          cancel: () => void cancelled++,
        }),
      read: async (stream: ReadableStream) => new Response(stream).text(),
      ignore: () => 'ignored',
    },
  };
  const fn = await host.load(
    handler(`
      const outcome = promise => promise.then(String, error => error.message);
      const failing = () => new ReadableStream({ pull: controller => controller.error(new Error('own')) });
      const seen = [];
      for (const name of ['broken', 'text']) seen.push(await outcome(new Response(await env.APP[name]()).text()));
      await (await env.APP.endless()).cancel();
      seen.push(await outcome(env.APP.ignore(new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array(1000)) }))));
      return Response.json(seen);
    `),
    { bindings },
  );
  const seen: unknown = await (await fn.fetch('http://x/')).json();
  t.like(seen, { 2: 'ignored' });
  t.false(JSON.stringify(seen).includes('inside'));
  while (cancelled === 0) await new Promise(resolve => setImmediate(resolve));
  t.is(cancelled, 1);
});

test('callbacks come from code alone: no file and no API names them', async t => {
  const host = newHost(t, THREADS);
  const token = 'a-token-of-the-test-as-long-as-it-has-to-be';
  host.account('acme');
  const management = host.management({ tokens: [{ name: 'all', token, account: 'acme', permissions: 'all' }] });
  const form = new FormData();
  const binding = { type: 'callback', name: 'APP', undefined: {} };
  form.set('metadata', JSON.stringify({ main_module: 'a.js', bindings: [binding] }));
  form.set('a.js', new File([handler('return 1')], 'a.js', { type: 'application/javascript+module' }));
  const answer = await management(
    new Request('http://x/accounts/acme/functions/f', {
      method: 'PUT',
      body: form,
      headers: { authorization: `Bearer ${token}` },
    }),
  );
  t.is(answer.status, 400);
});

test('props that JSON cannot hold, or that are too long, are refused', async t => {
  const host = newHost(t, THREADS);
  const fn = await host.load(handler('return new Response("ok")'));
  const fetch = (props: unknown) => fn.fetch('http://x/', { props: props as Record<string, unknown> });
  await t.throwsAsync(fetch({ a: 1n }), { instanceOf: TypeError, message: /Option props of fetch\(\)/ });
  await t.throwsAsync(fetch([]), { instanceOf: TypeError });
  t.throws(() => fn.rpcTo({ props: Object([]) }), { instanceOf: TypeError, message: /Option props of rpcTo\(\)/ });
  await t.throwsAsync(fetch('text'), { instanceOf: TypeError });
  await t.throwsAsync(fetch({ a: 'x'.repeat(70_000) }), { instanceOf: RangeError, message: /at most 65536/ });
  await t.throwsAsync(host.load(handler(''), { props: { a: Number.NaN } }), { message: /props/ });
});

test('Maps and Sets with more numbers as keys than may be are refused, before they are sent', async t => {
  const host = newHost(t, THREADS);
  const bindings = { APP: { run: (value: Set<unknown>) => value.size } };
  for (const [value, message] of [
    ['new Set(Array.from({ length: 2000 }, (_, i) => i))', undefined],
    ['new Set(Array.from({ length: 2001 }, (_, i) => i))', /more than 2000 numbers as keys/],
    ['new Map(Array.from({ length: 2001 }, (_, i) => [BigInt(i), i]))', /more than 2000 numbers as keys/],
    ['new Set(Array.from({ length: 20000 }, (_, i) => "k" + i))', undefined],
  ] as const) {
    const fn = await host.load(calling(value, 'result => Response.json({ message: "" })'), { bindings });
    const { message: given } = JSON.parse(await textOf(fn.fetch('http://x/')));
    if (message === undefined) t.is(given, '', value);
    else t.regex(given, message, value);
  }
});
