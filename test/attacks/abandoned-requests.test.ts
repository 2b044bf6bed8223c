/** Clients that give up at every moment, also with requests that wait behind others on their connection: nothing of theirs stays counted to the account. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { newHost } from '../host/new-host.js';
import { listen } from '../servers.js';

const FUNCTION = `
const trickle = () => new ReadableStream({
  async pull(controller) { await scheduler.wait(2); controller.enqueue(new TextEncoder().encode('y'.repeat(8000))); },
});
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const headers = { 'content-type': 'text/plain' };
    if (pathname === '/answer') return new Response('fine');
    if (pathname === '/stream') return new Response(trickle(), { headers });
    if (pathname === '/kept') return new Response(trickle(), { headers: { ...headers, 'cache-control': 'max-age=60' } });
    if (pathname === '/echo') return new Response(request.body, { headers });
    if (pathname === '/called') return env.OTHER.fetch('http://other/stream');
    await env.FILES.put('key', request.body ?? 'x'.repeat(100_000));
    return new Response((await env.FILES.get('key'))?.body, { headers });
  },
};`;
const PATHS = ['/stream', '/kept', '/called', '/file'];
const CLIENTS = 12;
const CONNECTIONS = 15;

/** Some requests at once on one connection, which is cut a moment later. */
async function giveUp(port: number, round: number): Promise<void> {
  const client = net.connect(port, '127.0.0.1').on('error', () => {});
  client.resume();
  const head = 'HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip, br\r\n';
  const first = PATHS[round % PATHS.length] ?? '';
  const second = PATHS[(round >> 2) % PATHS.length] ?? '';
  client.write(`GET ${first} ${head}\r\nGET ${second} ${head}\r\nPOST /echo ${head}content-length: 200000\r\n\r\n`);
  client.write('z'.repeat(20_000));
  await pause(5 + ((round * 7) % 60));
  if (round % 2 === 0) client.destroy();
  else client.resetAndDestroy();
  if (!client.closed) await once(client, 'close');
}

for (const services of ['inline', 'process'] as const) {
  test(`requests that clients give up leave nothing behind (${services})`, async t => {
    t.timeout(180_000);
    const host = newHost(t, { services, storage: await temporaryDirectory(t) });
    const account = host.account('acme', { hostBytes: 16 * 2 ** 20 });
    await account.load(FUNCTION, { name: 'other', buckets: { FILES: 'files' } });
    const fn = await account.load(FUNCTION, {
      name: 'main',
      buckets: { FILES: 'files' },
      services: { OTHER: 'other' },
    });
    const origin = await listen(t, host.listener({ cache: true, function: fn }));
    const port = Number(new URL(origin).port);
    let round = 0;
    const client = async (): Promise<void> => {
      for (let count = 0; count < CONNECTIONS; count++) await giveUp(port, round++);
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    // What was under way ends first; what stays counted is half of the bound soon, and every request is refused from then on.
    const whole = async (): Promise<number[]> => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(`${origin}/answer`)));
      for (const answer of answers) await answer.text();
      return answers.map(({ status }) => status);
    };
    while ((await whole()).some(status => status !== 200)) await pause(100);
    t.pass();
  });
}
