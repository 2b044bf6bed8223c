import type { Benchmark, Figure } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { timed } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { startServer } from '../subprocess.js';

/** The same text runs in the function and in Node. `hot` are those that nearly every request uses. */
const WORK = `
const text = 'The quick brown fox jumps over the lazy dog. Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.';
const bytes = new TextEncoder().encode(text);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const object = { name: 'a small object', values: [1, 2, 3], nested: { yes: true } };

const hot = {
  Headers() {
    const headers = new Headers({ accept: 'text/html', 'content-type': 'application/json', 'x-request-id': '1' });
    headers.set('cache-control', 'no-store');
    headers.append('vary', 'accept');
    return headers.get('accept').length + (headers.has('cookie') ? 1 : 0) + [...headers].length;
  },
  Request() {
    const request = new Request('https://example.com/path?query=1', { method: 'POST', headers: { accept: '*/*' }, body: 'body' });
    return request.url.length + request.headers.get('accept').length;
  },
  Response() {
    const response = new Response('body', { status: 201, headers: { 'x-one': '1' } });
    return response.status + response.headers.get('x-one').length;
  },
  async 'Response and its text'() {
    return (await new Response(text).text()).length;
  },
  URL() {
    const url = new URL('https://user@example.com:8080/a/b/../c?x=1&y=2#hash');
    return url.pathname.length + url.searchParams.get('y').length + url.href.length;
  },
  TextEncoder() {
    return encoder.encode(text).length;
  },
  async 'small ReadableStream'() {
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 3; at++) controller.enqueue(bytes);
        controller.close();
      },
    });
    let length = 0;
    for await (const chunk of stream) length += chunk.length;
    return length;
  },
};

const others = {
  TextDecoder: () => decoder.decode(bytes).length,
  URLSearchParams: () => new URLSearchParams('a=1&b=2&c=%20x').toString().length,
  'Response.json': () => Response.json(object).status,
  structuredClone: () => structuredClone(object).values.length,
  btoa: () => btoa('some text to encode').length,
  AbortController: () => {
    const controller = new AbortController();
    controller.abort();
    return controller.signal.aborted ? 1 : 0;
  },
  'crypto.randomUUID': () => crypto.randomUUID().length,
  'crypto.subtle.digest': async () => (await crypto.subtle.digest('SHA-256', bytes)).byteLength,
};

export async function work(name, times) {
  const call = (hot[name] ?? others[name]);
  let sum = 0;
  for (let at = 0; at < times; at++) {
    const result = call();
    sum += typeof result === 'number' ? result : await result;
  }
  return sum;
}
`;

const FUNCTION = `${WORK}
export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    return new Response(String(await work(searchParams.get('name'), Number(searchParams.get('times')))));
  },
};
`;

const HOT = ['Headers', 'Request', 'Response', 'Response and its text', 'URL', 'TextEncoder', 'small ReadableStream'];
const OTHERS = [
  'TextDecoder',
  'URLSearchParams',
  'Response.json',
  'structuredClone',
  'btoa',
  'AbortController',
  'crypto.randomUUID',
  'crypto.subtle.digest',
];
/** A batch takes about this long in Node. */
const BATCH_MS = 20;
const BATCHES_PER_ROUND = 5;

export const guestApis: Benchmark = {
  name: 'guest-apis',
  measures: `Web APIs inside a function, one call of each; the best of ${BATCHES_PER_ROUND} batches in each round.`,
  floor: "the same JavaScript with Node's own APIs, in a process of its own.",
  async run(context) {
    const host = startHost(context, { limits: { cpuMs: Number.POSITIVE_INFINITY } });
    const fn = await host.load(FUNCTION);
    const node = await startServer(context, 'worker', [WORK]);
    const inFunction = async (name: string, times: number): Promise<string> => {
      const response = await fn.fetch(`https://example.com/?${new URLSearchParams({ name, times: String(times) })}`);
      return response.text();
    };
    const inNode = (name: string, times: number): Promise<string> => node.ask(name, times);

    const figures: Figure[] = [];
    for (const name of [...HOT, ...OTHERS]) {
      const [guest, bare] = [await inFunction(name, 500), await inNode(name, 500)];
      if (guest !== bare) {
        context.progress(`${name} skipped: the function answered ${guest.slice(0, 100)}, Node ${bare}`);
        continue;
      }
      const times = Math.max(10, Math.round((1000 * BATCH_MS) / (await timed(() => inNode(name, 1000)))));
      const best = async (run: typeof inNode): Promise<number> => {
        let bestMs = Number.POSITIVE_INFINITY;
        for (let at = 0; at < BATCHES_PER_ROUND; at++) bestMs = Math.min(bestMs, await timed(() => run(name, times)));
        return (bestMs * 1000) / times;
      };
      const samples = await alternate(
        { ...context, progress: text => context.progress(`${name}, ${text}`) },
        { function: () => best(inFunction), Node: () => best(inNode) },
      );
      figures.push({
        name,
        unit: 'us',
        samples: samples.function,
        floor: { name: 'Node', samples: samples.Node },
        ...(HOT.includes(name) && { target: { of: 'ratio', atMost: 2.5 } }),
      });
    }
    return figures;
  },
};
