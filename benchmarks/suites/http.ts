import type { Benchmark } from '../benchmark.js';
import { type HttpLoad, hasWrk, requestsPerSecond } from '../measuring/http-load.js';
import { CpuBill } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { TEXT_FUNCTION } from '../subjects/sources.js';
import { startServer } from '../subprocess.js';

const TEN_HEADERS = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-encoding': 'gzip, deflate, br',
  'accept-language': 'en-GB,en;q=0.5',
  'cache-control': 'no-cache',
  cookie: 'session=4f9c1d2e8a7b6c5d; theme=dark',
  dnt: '1',
  referer: 'https://example.com/start',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
  'x-forwarded-for': '203.0.113.7',
  'x-request-id': '8c0f4f6e-6d1b-4a0e-9b3c-2f6a1e5d7c9b',
};

/** Reads the request's body, as a handler of a form would. */
const POST_FUNCTION = `export default {
  async fetch(request) {
    if (request.method === 'POST') await request.text();
    return new Response('Hello from a function');
  },
};
`;

type Kind = Pick<HttpLoad, 'headers' | 'body'>;

export const http: Benchmark = {
  name: 'http',
  measures: 'Requests through `host.listener()` behind `node:http` at 64 connections, answered with a short text.',
  floor: 'a bare `node:http` server with the same answer.',
  async run(context) {
    const { seconds, folder } = context;
    context.progress(`the load comes from ${hasWrk() ? 'wrk' : 'autocannon'}`);
    const bare = await startServer(context, 'bare');
    const host = await startServer(context, 'host', [TEXT_FUNCTION]);
    const postHost = await startServer(context, 'host', [POST_FUNCTION]);
    const load = (url: string, kind: Kind = {}): Promise<number> =>
      requestsPerSecond({ url, connections: 64, seconds, folder, ...kind });
    const headers: Kind = { headers: TEN_HEADERS };
    const body: Kind = { body: JSON.stringify({ name: 'a small body', values: [1, 2, 3] }) };

    for (const { url } of [bare, host, postHost]) await load(url);
    const bareBill = new CpuBill([bare.pid]);
    const hostBill = new CpuBill([host.pid]);
    const cellBill = new CpuBill(host.children);
    const samples = await alternate(context, {
      GET: () => hostBill.around(() => cellBill.around(() => load(host.url))),
      'GET, bare': () => bareBill.around(() => load(bare.url)),
      headers: () => load(host.url, headers),
      'headers, bare': () => load(bare.url, headers),
      POST: () => load(postHost.url, body),
      'POST, bare': () => load(bare.url, body),
    });
    return [
      {
        name: 'GET',
        unit: 'requests/s',
        samples: samples.GET,
        floor: { name: 'bare node:http', samples: samples['GET, bare'] },
        target: { of: 'ratio', atLeast: 0.45 },
      },
      {
        name: 'CPU time of the application per GET',
        unit: 'us',
        samples: hostBill.samples,
        floor: { name: 'bare node:http', samples: bareBill.samples },
      },
      { name: 'CPU time of the cell per GET', unit: 'us', samples: cellBill.samples },
      {
        name: 'GET with 10 headers',
        unit: 'requests/s',
        samples: samples.headers,
        floor: { name: 'bare node:http', samples: samples['headers, bare'] },
      },
      {
        name: 'POST of a small body that is read',
        unit: 'requests/s',
        samples: samples.POST,
        floor: { name: 'bare node:http', samples: samples['POST, bare'] },
      },
    ];
  },
};
