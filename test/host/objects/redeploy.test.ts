/** New versions of a function while its objects, its bindings and the application are called: no call is lost. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { connect, serveSockets } from '../ingress/websocket/servers.js';
import { newHost, nextLog } from '../new-host.js';

const MODES = ['inline', 'process'] as const;
const OPTIONS = { name: 'f', routes: ['*/*'], objects: { O: 'O' } };

const version = (number: number): string => `import { StatefulObject } from 'edgehost:workers';
const version = ${number};
export class O extends StatefulObject {
  async inc() {
    const n = ((await this.ctx.storage.get('n')) ?? 0) + 1;
    this.ctx.storage.put('n', n);
    await scheduler.wait(10);
    return n;
  }
  count() { return this.ctx.storage.get('n'); }
  async late() { await scheduler.wait(60_000); }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
}
export default { async fetch(request, env) {
  const stub = env.O.getByName('a');
  return request.headers.has('upgrade') ? stub.fetch(request) : new Response(String(await stub.inc()));
} };`;

async function opened(t: ExecutionContext, backend: (typeof MODES)[number]): Promise<EdgeHost> {
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { backend, storage });
}

for (const backend of MODES) {
  test.serial(
    `calls of an object and WebSockets to it wait for the next version of its function (${backend})`,
    async t => {
      t.timeout(240_000);
      const host = await opened(t, backend);
      const fn = await host.load(version(0), OPTIONS);
      const url = await serveSockets(t, host);
      let isOver = false;
      const failures: string[] = [];
      let answered = 0;
      const calling = async (): Promise<void> => {
        while (!isOver) {
          const answer = await fn.fetch('http://x/').then(
            async response => `${response.status} ${await response.text()}`,
            error => `${error}`,
          );
          if (answer.startsWith('200 ')) answered++;
          else failures.push(answer);
        }
      };
      const dialing = async (): Promise<void> => {
        while (!isOver) {
          const socket = connect(t, url);
          const outcome = await Promise.race([
            once(socket, 'open').then(() => 'open'),
            once(socket, 'unexpected-response').then(([, response]) => `refused with ${response.statusCode}`),
          ]);
          if (outcome !== 'open') failures.push(`a WebSocket was ${outcome}`);
          socket.terminate();
        }
      };
      const clients = [calling(), calling(), calling(), dialing()];
      for (let number = 1; number <= 6; number++) {
        const enough = answered + 5;
        while (answered < enough && failures.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
        await host.load(version(number), OPTIONS);
      }
      isOver = true;
      await Promise.all(clients);
      t.deepEqual(failures, []);
      t.is(await fn.objects('O').getByName('a').rpc.count?.(), answered);
    },
  );

  test.serial(`a call of an object that is not answered does not keep the next version away (${backend})`, async t => {
    t.timeout(120_000);
    const host = await opened(t, backend);
    const fn = await host.load(version(0), OPTIONS);
    const { rpc } = fn.objects('O').getByName('a');
    t.is(await rpc.inc?.(), 1);
    const late = t.throwsAsync(Promise.resolve(rpc.late?.()), { code: 'EDGE_CLOSED' });
    await host.load(version(1), OPTIONS);
    t.is(await fn.objects('O').getByName('a').rpc.inc?.(), 2);
    await late;
  });

  test.serial(
    `an object of the version before calls another one while the next version waits (${backend})`,
    async t => {
      t.timeout(120_000);
      const host = await opened(t, backend);
      const source = (number: number): string => `import { StatefulObject } from 'edgehost:workers';
    export class O extends StatefulObject {
      async first() {
        console.log('begun');
        await scheduler.wait(300);
        return (await this.env.O.getByName('b').second()) + ' first ${number}';
      }
      second() { return 'second ${number}'; }
    }
    export default { fetch: (request, env) => env.O.getByName('a').first().then(text => new Response(text)) };`;
      const options = { name: 'f', objects: { O: 'O' } };
      const fn = await host.load(source(0), options);
      t.is(await (await fn.fetch('http://x/')).text(), 'second 0 first 0');
      const begun = nextLog(host, 'f');
      const answer = fn.fetch('http://x/').then(response => response.text());
      await begun;
      await host.load(source(1), options);
      t.is(await answer, 'second 0 first 0');
      t.is(await (await fn.fetch('http://x/')).text(), 'second 1 first 1');
    },
  );

  test.serial(
    `what runs in the version before calls its bindings and the application to its end (${backend})`,
    async t => {
      t.timeout(120_000);
      const host = await opened(t, backend);
      await host.load(`export default { fetch: () => new Response('called') };`, { name: 'callee' });
      const reached: (() => void)[] = [];
      let open = (): void => {};
      const isOpen = new Promise<void>(resolve => {
        open = resolve;
      });
      const source = `import { StatefulObject } from 'edgehost:workers';
      export class O extends StatefulObject { hi() { return 'object'; } }
      export default { async fetch(request, env) {
      await env.APP.say('begun');
      const answers = [await (await env.SVC.fetch('http://x/')).text(), await env.APP.say('again'), await env.O.getByName('a').hi()];
      await env.BUCKET.put('key', 'value');
      await env.KV.put('key', 'value');
      return new Response(answers.join());
    } };`;
      const options = {
        name: 'f',
        services: { SVC: 'callee' },
        objects: { O: 'O' },
        buckets: { BUCKET: 'bucket' },
        kv: { KV: 'space' },
        bindings: {
          APP: {
            say: async (word: unknown) => {
              if (word !== 'begun') return 'application';
              for (const tell of reached.splice(0)) tell();
              await isOpen;
              return '';
            },
          },
        },
      };
      const fn = await host.load(source, options);
      const begun = new Promise<void>(resolve => reached.push(resolve));
      const answer = fn.fetch('http://x/').then(response => response.text());
      await begun;
      for (let number = 1; number <= 2; number++) await host.load(`${source}\n// ${number}`, options);
      open();
      t.is(await answer, 'called,application,object');
    },
  );

  test.serial(`load() serves the version of the last of many calls for one name (${backend})`, async t => {
    t.timeout(240_000);
    const host = await opened(t, backend);
    const source = (number: number): string => `export default { fetch: () => new Response('${number}') };`;
    for (let round = 0; round < 3; round++) {
      const loads = Array.from({ length: 50 }, (_, number) => host.load(source(number), { name: 'f' }));
      const functions = new Set(await Promise.all(loads));
      t.is(functions.size, 1);
      for (const fn of functions) t.is(await (await fn.fetch('http://x/')).text(), '49');
    }
  });

  test.serial(`load() serves the last of many calls for one name whose script starts (${backend})`, async t => {
    t.timeout(240_000);
    const host = await opened(t, backend);
    const source = (number: number): string =>
      `${number < 6 ? '' : "throw new Error('bad');"} export default { fetch: () => new Response('${number}') };`;
    const loads = Array.from({ length: 10 }, (_, number) => host.load(source(number), { name: 'f' }));
    const outcomes = await Promise.allSettled(loads);
    const codes = outcomes.map(outcome => (outcome.status === 'rejected' ? outcome.reason.code : 'loaded'));
    t.deepEqual(codes, [...new Array(6).fill('loaded'), ...new Array(4).fill('EDGE_SCRIPT_THREW')]);
    const fn = await loads[0];
    t.is(await (await fn?.fetch('http://x/'))?.text(), '5');
  });
}
