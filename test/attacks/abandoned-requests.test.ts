/** Clients that give up at every moment, also with requests that wait behind others on their connection: nothing of theirs stays counted to the account. */
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { newHost } from '../host/new-host.js';
import { clientOf, PROTOCOLS, type Protocol } from '../host/protocols.js';

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

/** A client sends some requests at once on one connection, and cuts it a moment later. */
const GIVE_UP: Readonly<Record<Protocol, (origin: string, round: number) => Promise<void>>> = {
  'HTTP/1.1': async (origin, round) => {
    const { port, hostname } = new URL(origin);
    const client = net.connect(Number(port), hostname).on('error', () => {});
    client.resume();
    const head = 'HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip, br\r\n';
    for (const path of pathsOf(round)) client.write(`GET ${path} ${head}\r\n`);
    client.write(`POST /echo ${head}content-length: 200000\r\n\r\n`);
    client.write('z'.repeat(20_000));
    await pause(pauseMs(round));
    if (round % 2 === 0) client.destroy();
    else client.resetAndDestroy();
    if (!client.closed) await once(client, 'close');
  },
  'HTTP/2': async (origin, round) => {
    const client = http2.connect(origin).on('error', () => {});
    const head = { ':authority': 'x', 'accept-encoding': 'gzip, br' };
    const streams = pathsOf(round).map(path => client.request({ ':path': path, ...head }));
    const upload = client.request({ ':method': 'POST', ':path': '/echo', ...head });
    upload.write('z'.repeat(20_000));
    for (const stream of [...streams, upload]) stream.on('error', () => {}).resume();
    await pause(pauseMs(round));
    // All of them, or those before the connection.
    if (round % 2 === 0) for (const stream of [...streams, upload]) stream.close(http2.constants.NGHTTP2_CANCEL);
    if (round % 4 === 0) await pause(5);
    client.destroy();
    if (!client.closed) await once(client, 'close');
  },
};

function pathsOf(round: number): readonly string[] {
  return [PATHS[round % PATHS.length] ?? '', PATHS[(round >> 2) % PATHS.length] ?? ''];
}

function pauseMs(round: number): number {
  return 5 + ((round * 7) % 60);
}

for (const protocol of PROTOCOLS) {
  for (const backend of ['inline', 'process'] as const) {
    test(`requests that clients give up leave nothing behind (${backend}) over ${protocol}`, async t => {
      const { listen, fetch } = clientOf(protocol);
      t.timeout(180_000);
      const host = newHost(t, { backend, storage: await temporaryDirectory(t) });
      const account = host.account('acme', { hostBytes: 16 * 2 ** 20 });
      await account.load(FUNCTION, { name: 'other', buckets: { FILES: 'files' } });
      const fn = await account.load(FUNCTION, {
        name: 'main',
        buckets: { FILES: 'files' },
        services: { OTHER: 'other' },
      });
      const origin = await listen(t, host.listener({ cache: true, function: fn }));
      let round = 0;
      const client = async (): Promise<void> => {
        for (let count = 0; count < CONNECTIONS; count++) await GIVE_UP[protocol](origin, round++);
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
}
