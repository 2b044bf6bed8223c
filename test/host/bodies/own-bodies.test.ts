/** Large bodies that the application itself sends are its own: they are no reason to end an account's process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { listen } from '../../servers.js';
import { newHost } from '../new-host.js';

const MEBIBYTE = 1024 * 1024;
const BYTES = 6 * MEBIBYTE;

/** It begins to read when an account that holds too much would have been ended. */
const SOURCE = `
import { FunctionEntrypoint } from 'edgehost:workers';
const late = () => new Promise(resolve => setTimeout(resolve, 2500));
async function lengthOf(body) {
  let bytes = 0;
  await late();
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}
export default class extends FunctionEntrypoint {
  async fetch(request) {
    if (request.method === 'POST') return new Response(String(await lengthOf(request.body)));
    return new Response(String(await lengthOf((await fetch('http://other.example/')).body)));
  }
  async take(bytes) { await late(); return bytes.length; }
  async callback() { const answer = this.env.APP.give(); await late(); return (await answer).length; }
}`;

const PLACES: readonly (readonly [string, EdgeHostOptions])[] = [
  ['inline, process', { isolation: 'process' }],
  ['inline, thread', { isolation: 'thread' }],
  ['services in a process', { isolation: 'process', backend: 'process' }],
];

async function hostOf(t: ExecutionContext, options: EdgeHostOptions): Promise<EdgeHost> {
  if (options.backend !== 'process') return newHost(t, options);
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { ...options, storage });
}

for (const [place, options] of PLACES) {
  test(`a body, an argument and an answer of the application that are larger than hostBytes arrive whole (${place})`, async t => {
    const host = await hostOf(t, {
      ...options,
      hostBytes: 2 * MEBIBYTE,
      outbound: () => new Response(new Uint8Array(BYTES)),
    });
    const bindings = { APP: { give: () => new Uint8Array(BYTES) } };
    const fn = await host.load(SOURCE, { name: 'f', bindings, limits: { memoryBytes: 64 * MEBIBYTE } });
    const post = (body: Buffer | Blob): Promise<string> =>
      fn.fetch('http://x/', { method: 'POST', body }).then(answer => answer.text());
    // All at once, each for longer than an account may hold too much.
    const lengths = await Promise.all([
      post(Buffer.alloc(BYTES)),
      post(new Blob([new Uint8Array(BYTES)])),
      fn.fetch('http://x/').then(answer => answer.text()),
      fn.rpc.take(new Uint8Array(BYTES)),
      fn.rpc.callback(),
    ]);
    t.deepEqual(lengths.map(String), Array(lengths.length).fill(String(BYTES)));
  });
}

test('a body that a framework has kept as a Buffer larger than hostBytes arrives whole', async t => {
  const host = newHost(t, { hostBytes: 2 * MEBIBYTE });
  const fn = await host.load(SOURCE, { name: 'f' });
  const listener = host.listener({ function: fn });
  const url = await listen(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    listener(Object.assign(request, { rawBody: Buffer.concat(chunks) }), response);
  });
  const answer = await fetch(url, { method: 'POST', body: new Uint8Array(BYTES) });
  t.is(await answer.text(), String(BYTES));
});
