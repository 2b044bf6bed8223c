import test from 'ava';
import { HostOpens } from '../../src/protocol/messages.js';
import { createGuest, handler } from './guest.js';

test('fetch handler answers with status, headers and text', async t => {
  const guest = await createGuest(
    t,
    handler(
      `return new Response('hello', { status: 201, statusText: 'Made', headers: [['a', '1'], ['set-cookie', 'x'], ['set-cookie', 'y']] })`,
    ),
  );
  const answer = await guest.fetch();
  t.is(answer.status, 201);
  t.is(answer.statusText, 'Made');
  t.deepEqual(answer.headers, [
    'a',
    '1',
    'set-cookie',
    'x',
    'set-cookie',
    'y',
    'content-type',
    'text/plain;charset=UTF-8',
  ]);
  t.is(answer.body, 'hello');
  await answer.done;
});

for (const [kind, expression, expected] of [
  ['bytes', `new Uint8Array([104, 105])`, 'hi'],
  ['a Blob', `new Blob(['h', 'i'])`, 'hi'],
  ['URLSearchParams', `new URLSearchParams({ a: 'b c' })`, 'a=b+c'],
  [
    'a stream',
    `new ReadableStream({ start(c) { c.enqueue(new Uint8Array([104])); c.enqueue(new Uint8Array([105])); c.close(); } })`,
    'hi',
  ],
  ['bytes of 3 MB', `new Uint8Array(3_000_000).fill(97)`, 'a'.repeat(3_000_000)],
  ['nothing', 'null', ''],
  ['a stream that was looked at', `new Response('hi').body`, 'hi'],
] as const) {
  test(`fetch handler answers with a body of ${kind}`, async t => {
    const guest = await createGuest(t, handler(`return new Response(${expression})`));
    const answer = await guest.fetch();
    t.is(answer.failure, undefined);
    t.true(answer.body === expected);
    await answer.done;
  });
}

test('fetch handler sees method, URL and headers of the request', async t => {
  const guest = await createGuest(
    t,
    handler(`return Response.json([request.method, request.url, [...request.headers]])`),
  );
  const { body } = await guest.fetch({
    method: 'PUT',
    url: 'https://a.example/b?c',
    headers: ['x-b', '2', 'x-a', '1'],
  });
  t.deepEqual(JSON.parse(body), [
    'PUT',
    'https://a.example/b?c',
    [
      ['x-a', '1'],
      ['x-b', '2'],
    ],
  ]);
});

test('request headers are immutable', async t => {
  const guest = await createGuest(t, handler(`request.headers.set('a', 'b')`));
  t.is((await guest.fetch()).failure?.name, 'TypeError');
});

for (const [kind, body, expected] of [
  ['complete', 'some text', 'some text'],
  ['streamed', ['some', ' ', 'text'], 'some text'],
  ['empty', '', ''],
] as const) {
  test(`request.text() reads a body that is ${kind}`, async t => {
    const guest = await createGuest(t, handler(`return new Response(await request.text())`));
    t.is((await guest.fetch({ method: 'POST', body })).body, expected);
  });

  test(`request.body is piped to the response when it is ${kind}`, async t => {
    const guest = await createGuest(t, handler(`return new Response(request.body)`));
    t.is((await guest.fetch({ method: 'POST', body })).body, expected);
  });

  test(`request.clone() gives the body twice when it is ${kind}`, async t => {
    const guest = await createGuest(
      t,
      handler(`const copy = request.clone(); return new Response(await copy.text() + '|' + await request.text())`),
    );
    t.is((await guest.fetch({ method: 'POST', body })).body, `${expected}|${expected}`);
  });
}

test('request.body is read through a transform', async t => {
  const upper = `new TransformStream({ transform(chunk, c) { c.enqueue(chunk.map(b => b - 32)); } })`;
  const guest = await createGuest(t, handler(`return new Response(request.body.pipeThrough(${upper}))`));
  t.is((await guest.fetch({ method: 'POST', body: ['ab', 'cd'] })).body, 'ABCD');
});

for (const [what, body, code, message] of [
  ['throws', `throw new RangeError('boo')`, 'EDGE_HANDLER_THREW', 'boo'],
  ['throws a string', `throw 'boo'`, 'EDGE_HANDLER_THREW', 'boo'],
  ['throws nothing', `throw undefined`, 'EDGE_HANDLER_THREW', 'undefined'],
  ['throws a symbol', `throw Symbol('x')`, 'EDGE_HANDLER_THREW', 'a Symbol was thrown'],
  [
    'throws what throws when it is read',
    `throw { get message() { throw 1 }, get name() { throw 2 }, get stack() { throw 3 } }`,
    'EDGE_HANDLER_THREW',
    '{ message: [Getter], name: [Getter], stack: [Getter] }',
  ],
  [
    'throws a proxy that traps everything',
    `throw new Proxy(function () {}, { get() { throw 1 } })`,
    'EDGE_HANDLER_THREW',
    '[Function (anonymous)]',
  ],
  [
    'answers with undefined',
    ``,
    'EDGE_NO_RESPONSE',
    'event.respondWith() was given nothing: a Response is wanted, whatever the request',
  ],
  [
    'answers with null',
    `return null`,
    'EDGE_NO_RESPONSE',
    'event.respondWith() was given null: return a Response, such as new Response(null, { status: 204 })',
  ],
  [
    'answers with what looks like a Response',
    `return { __proto__: Response.prototype }`,
    'EDGE_NO_RESPONSE',
    'event.respondWith() was given a value of type object: return a Response, such as Response.json(value)',
  ],
  [
    'answers with Response.error()',
    `return Response.error()`,
    'EDGE_HANDLER_THREW',
    'The fetch handler answered with Response.error()',
  ],
  [
    'answers with a body that was read',
    `const r = new Response('a'); await r.text(); return r`,
    'EDGE_HANDLER_THREW',
    'The fetch handler answered with a Response whose body has been read already, or is locked',
  ],
] as const) {
  test(`fetch handler fails with ${code} when it ${what}`, async t => {
    const guest = await createGuest(t, handler(body));
    const answer = await guest.fetch();
    t.is(answer.failure?.code, code);
    t.is(answer.failure?.message, message);
    await answer.done;
  });
}

test('fetch handler fails with a bounded message when the error is huge', async t => {
  const guest = await createGuest(t, handler(`throw new Error('x'.repeat(10_000_000))`));
  t.true(((await guest.fetch()).failure?.message.length ?? 0) <= 4096);
});

test('fetch handler that answers without respondWith fails', async t => {
  const guest = await createGuest(t, `addEventListener('fetch', () => {})`);
  t.is((await guest.fetch()).failure?.message, 'No listener of "fetch" called event.respondWith()');
});

test('fetch handler fails with what a listener throws', async t => {
  const guest = await createGuest(t, `addEventListener('fetch', () => { throw new RangeError('boo') })`);
  t.is((await guest.fetch()).failure?.message, 'boo');
});

test('waitUntil() keeps the invocation open after the answer', async t => {
  const guest = await createGuest(
    t,
    `let finish; addEventListener('fetch', event => {
      if (event.request.url.endsWith('/end')) { finish(); event.respondWith(new Response('ended')); return; }
      event.waitUntil(new Promise(resolve => { finish = resolve; }));
      event.respondWith(new Response('first'));
    });`,
  );
  const first = await guest.fetch();
  let isDone = false;
  const done = first.done.then(() => {
    isDone = true;
  });
  t.is(first.body, 'first');
  t.false(isDone);
  await guest.fetch({ url: 'https://example.com/end' });
  await done;
  t.true(isDone);
});

test('waitUntil() logs a rejection', async t => {
  const guest = await createGuest(
    t,
    handler(`event.waitUntil(Promise.reject(new Error('late'))); return new Response('ok')`),
  );
  const answer = await guest.fetch();
  await answer.done;
  t.is(answer.body, 'ok');
  t.true(guest.logs.some(line => line.startsWith('Uncaught (in waitUntil) Error: late')));
});

test('an invocation that the host has closed is forgotten, and the next one is served', async t => {
  const seen: number[] = [];
  const guest = await createGuest(
    t,
    `let count = 0; addEventListener('fetch', event => {
      if (event.request.url.endsWith('/next')) { event.respondWith(new Response(String(count))); return; }
      event.respondWith((async () => { try { await fetch('https://o.example/') } finally { count++ } })());
    });`,
    {
      onCall: ({ invocation }) => {
        seen.push(invocation);
        guest.handle.closeInvocation(invocation);
      },
    },
  );
  await t.throwsAsync(guest.fetch());
  t.is(seen.length, 1);
  t.is((await guest.fetch({ url: 'https://example.com/next' })).body, '0');
});

test('passThroughOnException() reaches the host', async t => {
  const guest = await createGuest(t, handler(`event.passThroughOnException(); throw new Error('x')`));
  await guest.fetch();
  t.deepEqual(guest.logs, ['passThroughOnException']);
});

test('scheduled handler gets cron and time', async t => {
  const guest = await createGuest(t, `addEventListener('scheduled', e => { console.log(e.cron, e.scheduledTime) })`);
  t.like(guest.loaded, { kind: 'loaded', handlers: ['scheduled'] });
  const answer = await guest.send(HostOpens.Scheduled, '1700000000000\n*/5 * * * *');
  await answer.done;
  t.is(answer.status, 200);
  t.deepEqual(guest.logs, ['*/5 * * * * 1700000000000']);
});

test('loading fails when there is no handler', async t => {
  const { loaded } = await createGuest(t, `const x = 1;`);
  t.like(loaded, { kind: 'failed', failure: { code: 'EDGE_SCRIPT_NO_HANDLER' } });
});

test('loading fails with name and message when the script throws', async t => {
  const { loaded } = await createGuest(t, `throw new RangeError('at start')`);
  t.like(loaded, { kind: 'failed', failure: { code: 'EDGE_SCRIPT_THREW', name: 'RangeError', message: 'at start' } });
});

test('fetch() is refused in the global scope', async t => {
  const guest = await createGuest(
    t,
    `let seen; fetch('https://example.com/').catch(error => { seen = error.message; }); ${handler('return new Response(seen)')}`,
  );
  t.regex((await guest.fetch()).body, /^fetch\(\) is not allowed in the global scope/);
});

test('env of a classic script is in global variables', async t => {
  const guest = await createGuest(t, handler(`return Response.json([A, B.c])`), { env: { A: 'text', B: { c: 1 } } });
  t.deepEqual(JSON.parse((await guest.fetch()).body), ['text', 1]);
});

test('an invocation is answered when another one has patched every prototype that it can', async t => {
  const guest = await createGuest(
    t,
    `const patch = () => {
      const trap = () => { throw new Error('trapped') };
      const names = ['Map', 'Array', 'String', 'Uint8Array', 'WeakMap', 'Set', 'Function', 'Response', 'Headers', 'ReadableStream'];
      const define = Object.defineProperty, keysOf = Reflect.ownKeys, find = Reflect.getOwnPropertyDescriptor, classes = globalThis;
      for (let i = 0; i < names.length; i++) {
        const { prototype } = classes[names[i]];
        const keys = keysOf(prototype);
        for (let j = 0; j < keys.length; j++) {
          if (keys[j] !== 'constructor' && typeof find(prototype, keys[j]).value === 'function') { try { define(prototype, keys[j], { value: trap }) } catch {} }
        }
      }
      JSON.parse = JSON.stringify = Reflect.apply = Object.defineProperty = trap;
    };
    addEventListener('fetch', event => {
      const { url } = event.request;
      if (url === 'https://example.com/patch') patch();
      event.respondWith(new Response('fine', { headers: { a: 'b' } }));
    });`,
  );
  const patched = await guest.fetch({ url: 'https://example.com/patch' });
  t.is(patched.failure, undefined);
  t.is(patched.body, 'fine');
  const answer = await guest.fetch({ method: 'POST', body: ['x'] });
  t.is(answer.body, 'fine');
  await answer.done;
});
