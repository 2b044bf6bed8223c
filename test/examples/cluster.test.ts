import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { EdgeHost } from '../../src/index.js';
import { descendantsOf } from '../../src/pool/processes/process-tree.js';
import { endWith, storageDirectory, titlesIn, until, untilGone } from '../backend/spawn/with-backend.js';
import { ROOT } from '../docs/markdown.js';
import { unlessMissing } from '../needs.js';

/** Whether this host has a process for its services. */
function whatIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'not Linux';
  const options: object = { backend: 'process' };
  try {
    void new EdgeHost(options).close();
    return undefined;
  } catch {
    return "no backend: 'process'";
  }
}

const withServices = unlessMissing(whatIsMissing());

withServices(
  'two workers of node:cluster share what functions store and what is counted, and nothing is left of them',
  async t => {
    t.timeout(180_000);
    const storage = await storageDirectory(t);
    const server = spawn(process.execPath, [join(ROOT, 'examples/cluster-node/server.js')], {
      env: { ...process.env, STORAGE: storage, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => server.kill('SIGKILL'));
    let printed = '';
    server.stderr.on('data', chunk => {
      printed += String(chunk);
    });
    const workers = new Map<string, string>();
    for await (const line of createInterface({ input: server.stdout })) {
      const [, worker, port] = /^worker (\d+) listens on port (\d+)$/.exec(line) ?? [];
      if (worker !== undefined && port !== undefined) workers.set(worker, port);
      if (workers.size === 2) break;
    }
    const [port] = workers.values();
    const get = (path: string, init: RequestInit = {}): Promise<Response> =>
      // A connection for each, so that they go to one worker after the other.
      fetch(`http://127.0.0.1:${port}/${path}`, { ...init, headers: { connection: 'close' } });
    let requests = 0;
    const ask = async (init: RequestInit): Promise<Response> => {
      requests++;
      return get('notes/greeting', init);
    };
    const readers = new Map<string, string>();
    for (let round = 0; readers.size < 2; round++) {
      const put = await ask({ method: 'PUT', body: `hello ${round}` });
      t.deepEqual([put.status, await put.text()], [201, 'kept\n']);
      const got = await ask({});
      t.is(await got.text(), `hello ${round}`);
      readers.set(got.headers.get('x-worker') ?? '', '');
      // The next round begins at the other worker.
      await (await ask({})).text();
    }
    t.deepEqual([...readers.keys()].sort(), [...workers.keys()].sort());
    await until(async () => (await (await get('usage')).text()) === `${requests}\n`);
    const services = descendantsOf(server.pid ?? 0).filter(pid => titlesIn([pid])[0]?.startsWith('edgehost-store'));
    t.is(services.length, 1);
    const [pid = 0] = services;
    endWith(t, pid);
    server.kill('SIGTERM');
    const [code]: unknown[] = await once(server, 'exit');
    t.is(code, 0);
    await untilGone(pid);
    t.is(printed, '');
  },
);
