/** Attempts to get around limits: values at their bounds, floods of allowed operations, clients that disconnect at each moment. */
import { once } from 'node:events';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHost, InvocationEvent } from '../../src/index.js';
import { EDGE_ERRORS } from '../../src/quotas/errors.js';
import { LIMIT_NAMES, limitRow } from '../../src/quotas/limits.js';
import { handler, newHost, nextInvocation, textOf } from '../host/new-host.js';
import { listen } from '../servers.js';

/** Touches most of what is limited. */
const BUSY = handler(`console.log('line');
  const text = await request.text();
  await (await fetch('https://a.example/')).text();
  await env.FILES.put('key', text);
  const { objects } = await env.FILES.list();
  ctx.waitUntil(scheduler.wait(1));
  return new Response(text + objects.length);`);

for (const name of LIMIT_NAMES) {
  const { min, max } = limitRow(name);
  for (const figure of new Set([min, min + 1, Math.min(max, Number.MAX_SAFE_INTEGER), max])) {
    if (figure > max) continue;
    test(`${name} of ${figure} lets a function work, or says that it is the limit`, async t => {
      const limits = { [name]: figure };
      const host = newHost(t, {
        // Memory is bounded when a thread starts, before it is known for whom, and in this process it would be that of the tests.
        ...(name === 'memoryBytes' ? { limits } : { isolation: 'thread' }),
        spareIsolates: 0,
        outbound: () => new Response('x'),
      });
      const run = async (): Promise<string> => {
        // Its cron trigger needs the handler.
        const fn = await host.load(BUSY.replace('{', '{ scheduled() {},'), {
          limits,
          buckets: { FILES: 'files' },
          vars: { V: 'v' },
          routes: ['example.com/*'],
          crons: ['0 0 * * *'],
        });
        return textOf(fn.fetch('http://x/', { method: 'POST', body: 'text ' }));
      };
      const text = await run().catch((error: { code?: string; message: string }) => {
        t.true(error.code !== undefined && error.code in EDGE_ERRORS, error.message);
        t.regex(error.message, new RegExp(`limit ${name} is|option limits\\.${name}`));
        return 'text 1';
      });
      t.is(text, 'text 1');
    });
  }
}

test('calls that are refused cost their invocation what they cost the host', async t => {
  const host = newHost(t, { limits: { subrequests: 1 }, outbound: () => new Response('x') });
  const fn = await host.load(
    handler(`let refused = 0;
      for (let n = 0; n < 201; n++) await fetch('https://a.example/').then(answer => answer.text(), () => refused++);
      return new Response(String(refused))`),
  );
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), '200');
  t.true((await event).cpuMs >= 200 * 0.05);
});

test('a thousand promises given to waitUntil end together at its limit, and hold nothing of the next request', async t => {
  const host = newHost(t, { limits: { waitUntilMs: 50 } });
  const fn = await host.load(
    handler(`if (request.url.endsWith('held')) for (let n = 0; n < 1000; n++) {
        ctx.waitUntil(n % 2 === 0 ? new Promise(() => {}) : scheduler.wait(600_000));
      }
      return new Response('answered')`),
  );
  const event = nextInvocation(host, ({ url }) => url?.endsWith('held') === true);
  t.is(await textOf(fn.fetch('http://x/held')), 'answered');
  t.like(await event, { outcome: 'ok', status: 200 });
  t.is(await textOf(fn.fetch('http://x/')), 'answered');
});

test('a promise of waitUntil that gives itself new ones for ever ends at its limit', async t => {
  const host = newHost(t, { limits: { waitUntilMs: 50 } });
  const fn = await host.load(
    handler(`const more = async () => { await scheduler.wait(1); ctx.waitUntil(more()); };
      ctx.waitUntil(more()); return new Response('answered')`),
  );
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), 'answered');
  t.like(await event, { outcome: 'ok' });
});

test('a thousand fetches at once all get their answer, six at a time', async t => {
  let open = 0;
  let most = 0;
  const host = newHost(t, {
    outbound: async () => {
      most = Math.max(most, ++open);
      await new Promise(resolve => setImmediate(resolve));
      open--;
      return new Response('x');
    },
  });
  const fn = await host.load(
    handler(`const texts = await Promise.all(Array.from({ length: 1000 }, async () => (await fetch('https://a.example/')).text()));
      return new Response(String(texts.length))`),
  );
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), '1000');
  t.is(most, 6);
  const { connectionsWaited, subrequests } = await event;
  t.is(subrequests, 1000);
  t.true(connectionsWaited >= 990);
});

test('a thousand fetches that are given up at once leave no connection behind', async t => {
  const host = newHost(t, { outbound: () => new Promise(() => {}), limits: { subrequests: 5000 } });
  const fn = await host.load(
    handler(`if (request.url.endsWith('abort')) {
        const controller = new AbortController();
        const all = Array.from({ length: 1000 }, () => fetch('https://a.example/', { signal: controller.signal }));
        controller.abort();
        const results = await Promise.allSettled(all);
        return new Response(String(results.filter(({ status }) => status === 'rejected').length));
      }
      return new Response('fine')`),
  );
  for (let n = 0; n < 3; n++) t.is(await textOf(fn.fetch('http://x/abort')), '1000');
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

/** A loop that goes on by itself, and shows it to the host by its requests until its invocation is over. */
const GOES_ON: readonly (readonly [string, string])[] = [
  ['digests', `await crypto.subtle.digest('SHA-1', new Uint8Array(1))`],
  ['keys', `await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits'])`],
  ['modules', `await import('./other.js')`],
  [
    'rejections that nobody listens to',
    'await new Promise(resolve => { next = resolve; Promise.reject(new Error("go on")); })',
  ],
];

for (const [name, wait] of GOES_ON) {
  for (const place of ['an invocation', 'the global scope'] as const) {
    test(`a loop of ${name} that ${place} leaves behind gets no CPU time for ever`, async t => {
      const host = newHost(t, { limits: { cpuMs: 50, cpuOverrunMs: 0 } });
      const loop = `(async () => { for (;;) { rounds++; for (let n = 0; n < 1e6; n++); ${wait}; } })().catch(() => {});`;
      const fn = await host
        .load({
          main: 'main.js',
          modules: {
            'other.js': 'export default 1;',
            'main.js': `let rounds = 0; let next = () => {};
            addEventListener('unhandledrejection', event => { event.preventDefault(); next(); });
            ${place === 'the global scope' ? loop : ''}
            export default { async fetch(request) {
              if (request.url.endsWith('rounds')) return new Response(String(rounds));
              ${place === 'the global scope' ? '' : loop}
              return new Response('x');
            } }`,
          },
        })
        .catch((error: { code?: string }) => error.code);
      // What never waits for another thread is seen by the start itself.
      if (typeof fn !== 'object') {
        t.is(fn, 'EDGE_STARTUP_LIMIT');
        return;
      }
      await fn.fetch('http://x/').catch(() => {});
      // Answers when the loop rests: while it goes on, each of these has it go on for no longer than a request may.
      let last = -1;
      for (let n = 0; n < 50; n++) {
        const seen = Number(await textOf(fn.fetch('http://x/rounds')).catch(() => '-1'));
        t.true(seen - Math.max(0, last) < 10_000, `${seen - last} rounds`);
        last = seen;
      }
    });
  }
}

// --- clients that leave ---

interface Leaving {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  readonly socket: net.Socket;
  /** Resolves with the log line of that text. */
  logged(text: string): Promise<void>;
}

const HEAD = 'POST /left HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
const SOURCE = handler(`const { pathname } = new URL(request.url);
  if (pathname === '/loop') for (;;);
  if (pathname !== '/left') return new Response('fine');
  console.log('began');
  const text = await request.text();
  console.log('has all');
  if (text === 'waits-long') await scheduler.wait(600_000);
  if (text === 'fetches---') await fetch('https://never.example/');
  if (text === 'streams---') return new Response(new ReadableStream({
    async pull(controller) { controller.enqueue(new TextEncoder().encode('chunk')); await scheduler.wait(1); },
  }));
  if (text === 'holds-----') ctx.waitUntil(scheduler.wait(600_000));
  return new Response('all of it')`);

/** When the client leaves, and the outcomes that there may be; none when the request never came to be. */
const MOMENTS: readonly (readonly [string, (leaving: Leaving) => Promise<unknown>, readonly string[]])[] = [
  ['before it said anything', async () => {}, []],
  ['in the middle of the head', async ({ socket }) => socket.write(HEAD.slice(0, 20)), []],
  [
    'right after the head',
    async ({ socket, logged }) => {
      socket.write(HEAD);
      await logged('began');
    },
    ['canceled'],
  ],
  [
    'in the middle of the body',
    async ({ socket, logged }) => {
      socket.write(`${HEAD}half`);
      await logged('began');
    },
    ['canceled'],
  ],
  [
    'while the handler works',
    async ({ socket, logged }) => {
      socket.write(`${HEAD}waits-long`);
      await logged('has all');
    },
    ['canceled'],
  ],
  [
    'while the handler fetches',
    async ({ socket, logged }) => {
      socket.write(`${HEAD}fetches---`);
      await logged('has all');
    },
    ['canceled'],
  ],
  [
    'while the response comes in',
    async ({ socket }) => {
      socket.write(`${HEAD}streams---`);
      await once(socket, 'data');
    },
    ['responseStreamDisconnected'],
  ],
  [
    'when the response is there and waitUntil goes on',
    async ({ socket }) => {
      socket.write(`${HEAD}holds-----`);
      await once(socket, 'data');
    },
    ['ok'],
  ],
  [
    'while its isolate is being started',
    async ({ socket, fn, host }) => {
      const lost = nextInvocation(host, ({ outcome }) => outcome === 'exceededCpu');
      await fn.fetch('http://x/loop').catch(() => {});
      await lost;
      socket.write(`${HEAD}waits-long`);
      await new Promise(resolve => setImmediate(resolve));
    },
    ['canceled', 'nothing'],
  ],
];

async function leave(t: ExecutionContext, moment: (leaving: Leaving) => Promise<unknown>, isReset: boolean) {
  const host = newHost(t, {
    limits: { waitUntilMs: 100, cpuMs: 200 },
    outbound: (_request: Request) => new Promise(() => {}),
  });
  const fn = await host.load(SOURCE);
  const origin = await listen(t, host.listener({ function: fn }));
  const events: InvocationEvent[] = [];
  host.on('invocation', event => events.push(event));
  const lines: string[] = [];
  let onLine: () => void = () => {};
  host.on('log', ({ message }) => {
    lines.push(message);
    onLine();
  });
  const logged = async (text: string): Promise<void> => {
    while (!lines.includes(text)) {
      await new Promise<void>(resolve => {
        onLine = resolve;
      });
    }
  };
  const socket = net.connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  await moment({ host, fn, socket, logged });
  if (isReset) socket.resetAndDestroy();
  else socket.destroy();
  return { host, fn, events, origin };
}

for (const [name, moment, outcomes] of MOMENTS) {
  for (const isReset of [false, true]) {
    test(`a client that ${isReset ? 'is cut off' : 'leaves'} ${name} costs its own request and nothing else`, async t => {
      const { host, fn, events, origin } = await leave(t, moment, isReset);
      const isLeft = ({ url }: InvocationEvent): boolean => url?.endsWith('/left') === true;
      if (outcomes.length > 0 && !outcomes.includes('nothing')) {
        const event = events.find(isLeft) ?? (await nextInvocation(host, isLeft));
        t.true(outcomes.includes(event.outcome), event.outcome);
      }
      t.is(await (await fetch(`${origin}/other`)).text(), 'fine');
      t.is(await textOf(fn.fetch('http://x/other')), 'fine');
      const left = events.filter(isLeft);
      t.true(left.length <= 1, 'one event for each invocation');
      if (outcomes.length === 0) t.deepEqual(left, []);
    });
  }
}
