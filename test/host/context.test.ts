/** The application's AsyncLocalStorage, where code of the application runs for a function. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../src/index.js';
import { handler, newHost } from './new-host.js';
import { overBoth } from './protocols.js';

const MODES = [
  { isolation: 'process', backend: 'inline' },
  { isolation: 'process', backend: 'process' },
  { isolation: 'thread', backend: 'inline' },
] as const;

interface Seen {
  readonly requests: AsyncLocalStorage<string>;
  /** What was seen where; "none" outside of all contexts. */
  readonly seen: Map<string, Set<string>>;
  note(where: string): void;
}

function watching(): Seen {
  const requests = new AsyncLocalStorage<string>();
  const seen = new Map<string, Set<string>>();
  const note = (where: string): void => {
    const stores = seen.get(where) ?? new Set();
    seen.set(where, stores.add(requests.getStore() ?? 'none'));
  };
  return { requests, seen, note };
}

function hostIn(t: ExecutionContext, options: EdgeHostOptions): EdgeHost {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-context-'));
  // The last teardown runs first: the host closes before its folder is removed.
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { storage, ...options });
}

/** A stream of two chunks, each of which notes where it was asked for. */
function noted(note: () => void): ReadableStream<Uint8Array> {
  let left = 2;
  return new ReadableStream(
    {
      pull: controller => {
        note();
        if (left-- === 0) controller.close();
        else controller.enqueue(new Uint8Array(100_000));
      },
      cancel: note,
    },
    { highWaterMark: 0 },
  );
}

const USES_ALL = handler(`
  console.log('before');
  if (new URL(request.url).pathname === '/wait') return new Response(String(await env.APP.never().catch(e => e)));
  await env.APP.call();
  await new Promise(resolve => setTimeout(resolve, Math.random() * 10));
  await env.APP.call();
  let bytes = 0;
  for await (const chunk of await env.APP.stream()) bytes += chunk.length;
  const reader = (await env.APP.cancelled()).getReader();
  await reader.read();
  await reader.cancel();
  bytes += (await (await fetch('http://out.example/')).arrayBuffer()).byteLength;
  bytes += (await request.arrayBuffer()).byteLength;
  console.log('after');
  return new Response(bytes);
`);

for (const mode of MODES) {
  const title = `${mode.isolation} and backend ${mode.backend}`;

  test(`callbacks, outbound, streams and events run in the context of the call of fetch() (${title})`, async t => {
    const { requests, seen, note } = watching();
    const host = hostIn(t, {
      ...mode,
      outbound: () => {
        note('outbound');
        return new Response(noted(() => note('stream of outbound')));
      },
    });
    const byInvocation = new Map<string, string | undefined>();
    const over = new Promise<void>(resolve => {
      host.on('invocation', ({ invocation }) => {
        t.is(requests.getStore(), byInvocation.get(invocation));
        note('invocation');
        if (seen.get('invocation')?.size === 9) resolve();
      });
    });
    host.on('log', ({ invocation }) => {
      note('log');
      const store = byInvocation.get(invocation);
      if (store === undefined) byInvocation.set(invocation, requests.getStore());
      else t.is(requests.getStore(), store);
    });
    const fn = await requests.run('load', () =>
      host.load(USES_ALL, {
        bindings: {
          APP: {
            call: () => note('callback'),
            stream: () => noted(() => note('stream of a callback')),
            cancelled: () => noted(() => note('cancelled stream')),
          },
        },
      }),
    );
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        Array.from({ length: 3 }, (_, i) =>
          requests.run(`${round}.${i}`, async () => {
            const body = noted(() => note('request body'));
            const answer = await fn.fetch('http://x/', { method: 'POST', body, duplex: 'half' });
            t.is(await answer.text(), '600000');
            t.is(requests.getStore(), `${round}.${i}`);
          }),
        ),
      );
    }
    await over;
    const all = ['0.0', '0.1', '0.2', '1.0', '1.1', '1.2', '2.0', '2.1', '2.2'];
    for (const where of [
      'callback',
      'outbound',
      'stream of a callback',
      'cancelled stream',
      'stream of outbound',
      'request body',
      'log',
      'invocation',
    ])
      t.deepEqual([...(seen.get(where) ?? [])].sort(), all, where);
  });

  test(`a callback of a call without a store runs in none, be it that load() has one (${title})`, async t => {
    const { requests, seen, note } = watching();
    const host = hostIn(t, mode);
    const load = () =>
      host.load(handler('await env.APP.call(); return new Response()'), {
        bindings: { APP: { call: () => note('callback') } },
      });
    const fn = await requests.run('load', load);
    await fn.fetch('http://x/');
    await requests.run('a', () => fn.fetch('http://x/'));
    await fn.fetch('http://x/');
    t.deepEqual([...(seen.get('callback') ?? [])].sort(), ['a', 'none']);
  });

  test(`the signal of a callback fires in the context of the call that ends (${title})`, async t => {
    const { requests, seen, note } = watching();
    const host = hostIn(t, mode);
    let called = (): void => {};
    let ended = (): void => {};
    const isCalled = new Promise<void>(resolve => {
      called = resolve;
    });
    const hasEnded = new Promise<void>(resolve => {
      ended = resolve;
    });
    const fn = await requests.run('load', () =>
      host.load(USES_ALL, {
        bindings: {
          APP: {
            never: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
              signal.addEventListener('abort', () => {
                note('signal');
                ended();
              });
              called();
              return new Promise(() => {});
            },
          },
        },
      }),
    );
    const controller = new AbortController();
    const answer = requests.run('a', () => fn.fetch('http://x/wait', { signal: controller.signal }));
    await isCalled;
    controller.abort(new Error('enough'));
    await t.throwsAsync(answer, { message: 'enough' });
    await hasEnded;
    t.deepEqual([...(seen.get('signal') ?? [])], ['a']);
  });

  overBoth(
    `methods, calls between functions, and requests of a listener keep the context of their caller (${title})`,
    async (t, { listen, fetch }) => {
      const { requests, seen, note } = watching();
      const host = hostIn(t, mode);
      const bindings = { APP: { call: (where: unknown) => note(String(where)) } };
      const inner = `import { FunctionEntrypoint } from 'edgehost:workers'; export default class extends FunctionEntrypoint {
      async fetch(request) { await this.env.APP.call(request.headers.get('where')); return new Response('x'); }
      async run(where) { await this.env.APP.call(where); }
    }`;
      await requests.run('load', () => host.load(inner, { name: 'inner', bindings }));
      const outer = handler(
        "await env.INNER.fetch(request); await env.INNER.run('method between'); return new Response('x')",
      );
      const fn = await requests.run('load', () => host.load(outer, { name: 'outer', services: { INNER: 'inner' } }));
      const called = await host.load(inner, { name: 'called', bindings });
      const listener = host.listener({ function: fn });
      let count = 0;
      const url = await listen(t, (request, response) =>
        requests.run(`request ${count++}`, () => listener(request, response)),
      );
      for (let i = 0; i < 2; i++) await (await fetch(url, { headers: { where: 'listener' } })).text();
      for (const store of ['a', 'b']) {
        await requests.run(store, () => fn.fetch('http://x/', { headers: { where: 'fetch between' } }));
        await requests.run(store, () => called.rpc.run?.('rpc'));
      }
      t.deepEqual([...(seen.get('listener') ?? [])], ['request 0', 'request 1']);
      t.deepEqual([...(seen.get('fetch between') ?? [])], ['a', 'b']);
      t.deepEqual([...(seen.get('method between') ?? [])], ['request 0', 'request 1', 'a', 'b']);
      t.deepEqual([...(seen.get('rpc') ?? [])], ['a', 'b']);
    },
  );

  for (const cache of [false, true]) {
    overBoth(
      `the response of a listener is written in the context of its request, ${cache ? 'past a cache' : 'without a cache'} (${title})`,
      async (t, { protocol, listen, fetch }) => {
        const { requests, seen, note } = watching();
        const host = hostIn(t, mode);
        const fn = await requests.run('load', () =>
          host.load(
            handler(`
              const headers = { 'cache-control': 'max-age=60' };
              const isLong = new URL(request.url).pathname === '/long';
              return new Response(isLong ? 'x'.repeat(300_000) : 'x', { headers });
            `),
          ),
        );
        const listener = host.listener({ function: fn, cache });
        const url = await listen(t, (request, response) => {
          const { writeHead } = response;
          // As libraries do that add a field right before the head is written.
          response.writeHead = ((...args) => {
            note('writeHead');
            return Reflect.apply(writeHead, response, args);
          }) as typeof writeHead; // which has two forms
          response.once('finish', () => note('finish'));
          requests.run(request.url ?? '', () => listener(request, response));
        });
        for (const path of ['/short', '/long']) await (await fetch(url + path)).text();
        // Node emits 'finish' of HTTP/2 in the context of no request.
        for (const where of protocol === 'HTTP/2' ? ['writeHead'] : ['writeHead', 'finish'])
          t.deepEqual([...(seen.get(where) ?? [])], ['/short', '/long'], where);
      },
    );
  }

  test(`queues, tails and warnings have no caller: they run in no context (${title})`, async t => {
    const { requests, seen, note } = watching();
    const host = hostIn(t, mode);
    let left = 2;
    let done = (): void => {};
    const all = new Promise<void>(resolve => {
      done = resolve;
    });
    const call = (where: unknown): void => {
      note(String(where));
      if (--left === 0) done();
    };
    await requests.run('load', async () => {
      await host.load(`export default { async tail(items, env) { await env.APP.call('tail'); } }`, {
        name: 'tail',
        bindings: { APP: { call } },
      });
      const jobs = await host.load(
        `export default { async fetch(r, env) { await env.JOBS.send('x'); return new Response('x'); }, async queue(batch, env) { await env.APP.call('queue'); } }`,
        {
          name: 'jobs',
          bindings: { APP: { call } },
          queues: { JOBS: 'jobs' },
          consumers: [{ queue: 'jobs', maxBatchTimeoutSeconds: 0 }],
        },
      );
      const fn = await host.load(handler('return new Response()'), { name: 'tailed', tails: ['tail'] });
      await fn.fetch('http://x/');
      await jobs.fetch('http://x/');
    });
    await all;
    t.deepEqual([...(seen.get('queue') ?? [])], ['none']);
    t.deepEqual([...(seen.get('tail') ?? [])], ['none']);
  });
}
