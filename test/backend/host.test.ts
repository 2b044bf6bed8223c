/** Services in a process of their own: the same answers, counts and limits as in the application, and an application that outlives it. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { handler, newHost, nextInvocation, textOf } from '../host/new-host.js';
import { overBoth } from '../host/protocols.js';

function temporaryDirectory(t: ExecutionContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

function hostWithBackend(t: ExecutionContext, options: EdgeHostOptions = {}): EdgeHost {
  return newHost(t, { storage: temporaryDirectory(t), backend: 'process', usage: false, ...options });
}

const FILES = { buckets: { FILES: 'files' } };

test('functions and the application use the same bucket', async t => {
  const host = hostWithBackend(t);
  const fn = await host.load(
    handler(`await env.FILES.put('a', 'from the function'); return new Response((await env.FILES.get('b')).body);`),
    FILES,
  );
  await host.bucket('files').put('b', 'from the application');
  t.is(await textOf(fn.fetch('http://x/')), 'from the application');
  const object = await host.bucket('files').get('a');
  t.is(await object?.text(), 'from the function');
});

test('calls are counted as those of services in the application are', async t => {
  const host = hostWithBackend(t, { limits: { internalSubrequests: 4 } });
  const fn = await host.load(
    handler(`
      await Promise.all(['a', 'b', 'c'].map(key => env.FILES.put(key, key)));
      try { await env.FILES.head('a'); await env.FILES.head('a'); } catch (error) { return new Response(error.code); }`),
    FILES,
  );
  const first = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), 'EDGE_SUBREQUEST_LIMIT');
  const event = await first;
  t.is(event.subrequests, 4);
  t.deepEqual(event.calls, { bucket: 4 });
  t.deepEqual(
    event.warnings.map(({ limit }) => limit),
    ['internalSubrequests'],
  );
  // The first invocation was asked about when it called, later ones are announced.
  const second = nextInvocation(host);
  await textOf(fn.fetch('http://x/'));
  t.is((await second).subrequests, 4);
});

test('calls are counted after many invocations that have made none', async t => {
  const host = hostWithBackend(t);
  const fn = await host.load(
    handler(`
      if (new URL(request.url).pathname === '/call') await env.FILES.head('a');
      return new Response('done');`),
    FILES,
  );
  const subrequests = async (path: string): Promise<number> => {
    const over = nextInvocation(host);
    await textOf(fn.fetch(`http://x${path}`));
    return (await over).subrequests;
  };
  t.is(await subrequests('/call'), 1);
  // So many that later ones are not announced any more.
  for (let quiet = 0; quiet < 70; quiet++) t.is(await subrequests('/'), 0);
  t.is(await subrequests('/call'), 1);
  t.is(await subrequests('/call'), 1);
});

test('large bodies pass from the client to a bucket and back, whole', async t => {
  const host = hostWithBackend(t);
  const fn = await host.load(
    handler(`
      if (request.method === 'PUT') return Response.json((await env.FILES.put('big', request.body)).size);
      return new Response((await env.FILES.get('big')).body);`),
    FILES,
  );
  const bytes = randomBytes(12 * 1024 * 1024 + 17);
  for (let round = 0; round < 3; round++) {
    const put = await fn.fetch('http://x/', { method: 'PUT', body: bytes });
    t.is(await put.text(), String(bytes.length));
    const got = Buffer.from(await (await fn.fetch('http://x/')).arrayBuffer());
    t.true(got.equals(bytes));
  }
});

overBoth(
  'large bodies go to a client of the listener in order, and nothing of them stays counted',
  async (t, { listen, fetch }) => {
    for (const backend of ['inline', 'process'] as const) {
      const host = hostWithBackend(t, { backend });
      const bytes = randomBytes(24 * 1024 * 1024 + 17);
      await host.bucket('files').put('big', bytes);
      const fn = await host.load(handler(`return new Response((await env.FILES.get('big')).body);`), FILES);
      const origin = await listen(t, host.listener({ function: fn, compression: false }));
      // So many that what would stay counted of each adds up to a refusal.
      for (let round = 0; round < 6; round++) {
        const got = Buffer.from(await (await fetch(origin)).arrayBuffer());
        t.true(got.equals(bytes), `${backend}, ${round}`);
      }
    }
  },
);

test('a client that goes away ends what is passed on to it, and the function serves the next one', async t => {
  const host = hostWithBackend(t);
  await host.bucket('files').put('big', randomBytes(8 * 1024 * 1024));
  const fn = await host.load(handler(`return new Response((await env.FILES.get('big')).body);`), FILES);
  for (let round = 0; round < 3; round++) {
    const over = nextInvocation(host);
    const response = await fn.fetch('http://x/');
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    t.is((await over).outcome, 'responseStreamDisconnected');
  }
  t.is((await (await fn.fetch('http://x/')).arrayBuffer()).byteLength, 8 * 1024 * 1024);
});

test('callbacks run in the application', async t => {
  const host = hostWithBackend(t);
  const fn = await host.load(handler('return Response.json(await env.APP.add([1, 2]));'), {
    bindings: { APP: { add: ([a, b]: number[]) => [process.pid, (a ?? 0) + (b ?? 0)] } },
  });
  const over = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), JSON.stringify([process.pid, 3]));
  t.deepEqual((await over).calls, { callback: 1 });
});

test('fetch reaches the network from there, and functions of the host by their domains', async t => {
  const server = createServer((request, response) => {
    request.pipe(response);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const host = hostWithBackend(t, { egress: { allow: ['127.0.0.1'] } });
  await host.load(handler(`return new Response('local ' + await request.text());`), {
    name: 'local',
    routes: [{ pattern: 'local.example/*', customDomain: true }],
  });
  const fn = await host.load(
    handler(`
      const [there, here] = await Promise.all(
        ['http://127.0.0.1:${port}/', 'http://local.example/'].map(url => fetch(url, { method: 'POST', body: 'body' })));
      return Response.json([await there.text(), await here.text()]);`),
    { name: 'asks' },
  );
  const over = nextInvocation(host, event => event.function === 'asks');
  t.is(await textOf(fn.fetch('http://x/')), JSON.stringify(['body', 'local body']));
  const { calls, egressSentBytes, egressReceivedBytes } = await over;
  t.deepEqual([calls, egressSentBytes, egressReceivedBytes], [{ fetch: 2 }, 4, 4]);
});

test('when the process is killed calls fail with a code, and the next ones are answered by another process', async t => {
  const host = hostWithBackend(t);
  const warnings: unknown[] = [];
  host.on('warning', error => warnings.push(errorCode(error)));
  const fn = await host.load(
    handler(`
      try { await env.FILES.put('a', request.body ?? 'x'); return new Response('done'); }
      catch (error) { return new Response(error.code); }`),
    FILES,
  );
  t.is(await textOf(fn.fetch('http://x/')), 'done');
  const { backend } = host.health();
  t.is(typeof backend?.pid, 'number');
  // The body has no end: the call is in flight until it fails. The backend process has taken the beginning by the time so much was asked for.
  let pieces = 0;
  let isUnderWay = (): void => {};
  const underWay = new Promise<void>(resolve => {
    isUnderWay = resolve;
  });
  const body = new ReadableStream<Uint8Array>({
    pull: controller => {
      if (++pieces <= 50) controller.enqueue(randomBytes(100_000));
      else isUnderWay();
    },
  });
  const under = fn.fetch('http://x/', { method: 'PUT', body, duplex: 'half' });
  await underWay;
  const warned = new Promise(resolve => host.once('warning', resolve));
  process.kill(backend?.pid ?? 0, 'SIGKILL');
  await warned;
  t.is(await textOf(under), 'EDGE_SERVICES_LOST');
  t.is(await textOf(fn.fetch('http://x/')), 'done');
  t.deepEqual(warnings, ['EDGE_SERVICES_LOST']);
  t.not(host.health().backend?.pid, backend?.pid);
  const object = await host.bucket('files').get('a');
  t.is(await object?.text(), 'x');
});

test('reads that are under way when the process is killed are made again, once; the rest of the invocation is answered by the next process', async t => {
  const host = hostWithBackend(t, { limits: { internalSubrequests: 100 } });
  const fn = await host.load(
    handler(`
      const text = 'x'.repeat(1_000_000);
      await env.FILES.put('large', text);
      await env.NAMES.put('name', 'value');
      const codeOf = error => error.code;
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      const calls = async () => {
        await writer.write(new TextEncoder().encode('begun'));
        await request.text();
        const under = [
          env.FILES.get('large').then(async object => (await object.text()) === text),
          env.NAMES.get('name'),
          env.NAMES.get(['name', 'none']).then(values => [...values]),
          env.FILES.list().then(({ objects }) => objects.map(({ key }) => key)),
          caches.default.match('http://x/').then(response => response === undefined),
          env.FILES.put('other', 'y').catch(codeOf),
          env.NAMES.delete('name').catch(codeOf),
        ];
        await writer.write(new TextEncoder().encode('under way'));
        const answers = await Promise.all(under);
        await env.FILES.put('next', text);
        answers.push((await (await env.FILES.get('next')).text()) === text);
        await writer.write(new TextEncoder().encode(JSON.stringify(answers)));
        await writer.close();
      };
      calls().catch(error => writer.abort(error));
      return new Response(readable);`),
    { ...FILES, kv: { NAMES: 'names' } },
  );
  const backend = host.health().backend?.pid ?? 0;
  let goOn = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      goOn = () => controller.close();
    },
  });
  const over = nextInvocation(host);
  const response = await fn.fetch('http://x/', { method: 'POST', body, duplex: 'half' });
  let answer = '';
  for await (const chunk of response.body ?? []) {
    answer = Buffer.from(chunk).toString();
    if (answer === 'begun') {
      process.kill(backend, 'SIGSTOP');
      goOn();
    } else if (answer === 'under way') process.kill(backend, 'SIGKILL');
  }
  const pairs = [
    ['name', 'value'],
    ['none', null],
  ];
  const lost = 'EDGE_SERVICES_LOST';
  t.deepEqual(JSON.parse(answer), [true, 'value', pairs, ['large'], true, lost, lost, true]);
  t.not(host.health().backend?.pid, backend);
  const { outcome, calls } = await over;
  t.is(outcome, 'ok');
  // What the next process has answered: the first one has taken its counts along.
  t.deepEqual(calls, { bucket: 4, kv: 2, cache: 1 });
});

test('two hosts share a storage directory', async t => {
  const storage = temporaryDirectory(t);
  const [a, b] = [hostWithBackend(t, { storage }), hostWithBackend(t, { storage })];
  await a.bucket('files').put('key', 'of the one');
  const fn = await b.load(handler(`return new Response((await env.FILES.get('key')).body);`), FILES);
  t.is(await textOf(fn.fetch('http://x/')), 'of the one');
  await a.close();
  t.is(await textOf(fn.fetch('http://x/')), 'of the one');
});

test('nothing goes around a handler of the application: sockets are refused beside it', async t => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const host = hostWithBackend(t, { outbound: () => new Response('answered'), egress: { allow: ['127.0.0.1'] } });
  const fn = await host.load(`
    import { connect } from 'edgehost:sockets';
    export default { async fetch() {
      const socket = connect({ hostname: '127.0.0.1', port: ${port} });
      const opened = await socket.opened.then(() => 'opened', () => 'refused');
      return Response.json([opened, await (await fetch('http://127.0.0.1:${port}/')).text()]);
    } };`);
  t.is(await textOf(fn.fetch('http://x/')), JSON.stringify(['refused', 'answered']));
});

test('a resolver of the application is asked for outgoing requests', async t => {
  const asked: string[] = [];
  const host = hostWithBackend(t, {
    egress: {
      resolve: async name => {
        asked.push(name);
        return [];
      },
    },
  });
  const fn = await host.load(
    handler(`try { await fetch('http://name.example/'); } catch { return new Response('no'); }`),
  );
  t.is(await textOf(fn.fetch('http://x/')), 'no');
  t.deepEqual(asked, ['name.example']);
});

test('the management API and the application administer namespaces, caches and queues', async t => {
  const host = hostWithBackend(t);
  const acme = host.account('acme');
  const api = host.management();
  const { value } = await api.issueToken({
    name: 'test',
    account: 'acme',
    permissions: ['kv:edit', 'cache:edit', 'queues:edit'],
  });
  const call = async (method: string, path: string, body?: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' };
    const request = new Request(`http://api/accounts/acme/${path}`, { method, headers, ...(body && { body }) });
    return (await api(request)).text();
  };
  const large = 'x'.repeat(300_000);
  await call('POST', 'kv/namespaces', JSON.stringify({ name: 'sessions' }));
  await call('PUT', 'kv/namespaces/sessions/values/large', large);
  t.is(await acme.kv('sessions').get('large'), large);
  t.is(await call('GET', 'kv/namespaces/sessions/values/large'), large);
  t.like(JSON.parse(await call('GET', 'kv/namespaces/sessions/keys')), { result: { 0: { name: 'large' }, length: 1 } });
  await acme.caches.default.put(
    'http://a.example/',
    new Response(large, { headers: { 'cache-control': 'max-age=60' } }),
  );
  t.is(await (await acme.caches.default.match('http://a.example/'))?.text(), large);
  t.like(JSON.parse(await call('GET', 'cache')), { result: await acme.caches.usage() });
  t.like(await acme.caches.purge({ everything: true }), { purged: 1 });
  await call('POST', 'queues', JSON.stringify({ queue_name: 'jobs' }));
  t.is((await acme.queue('jobs').send({ a: 1 })).metadata.metrics.backlogCount, 1);
  const [message] = await acme.queue('jobs').pull();
  t.deepEqual(message?.body, { a: 1 });
  t.like(await acme.queue('jobs').settle({ acks: [message?.leaseId ?? ''] }), { acked: 1 });
  t.like(JSON.parse(await call('DELETE', 'queues/jobs')), { success: true });
  await t.throwsAsync(host.queue('Not valid').send(1), { code: 10205 as never }); // queues have numbers
});

test('what a function does for stubs of its objects counts to the call that has passed them', async t => {
  const host = hostWithBackend(t);
  await host.load(
    `import { FunctionEntrypoint, RpcTarget } from 'edgehost:workers';
    class Files extends RpcTarget {
      #env;
      constructor(env) { super(); this.#env = env; }
      async look() { await this.#env.FILES.head('a'); return 'looked'; }
    }
    export default class extends FunctionEntrypoint { files() { return new Files(this.env); } }`,
    { name: 'api', ...FILES, limits: { internalSubrequests: 3 } },
  );
  const fn = await host.load(
    handler(`
      const files = await env.API.files();
      const answers = [];
      for (let at = 0; at < 4; at++) answers.push(await files.look().catch(error => error.code ?? error.message));
      return Response.json(answers);`),
    { services: { API: 'api' } },
  );
  // The first are asked about, later ones are announced.
  for (let round = 0; round < 2; round++) {
    const answers: unknown[] = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.deepEqual(answers.slice(0, 3), ['looked', 'looked', 'looked']);
    t.regex(String(answers[3]), /internalSubrequests|EDGE_SUBREQUEST_LIMIT/);
  }
});

test('what is under way when the host closes rejects with EDGE_CLOSED, and a clock of the application is refused', async t => {
  const host = hostWithBackend(t);
  let read = (): void => {};
  const isRead = new Promise<void>(resolve => {
    read = resolve;
  });
  const body = new ReadableStream<Uint8Array>({
    pull: controller => {
      controller.enqueue(randomBytes(300_000));
      read();
      return new Promise(() => {});
    },
  });
  const put = host.bucket('files').put('a', body);
  const rejected = t.throwsAsync(put, { code: 'EDGE_CLOSED' });
  await isRead;
  await host.bucket('files').head('a');
  await host.close({ drainMs: 0 });
  await rejected;
  t.throws(() => hostWithBackend(t, { now: Date.now }), { instanceOf: RangeError, message: /option now/ });
});
