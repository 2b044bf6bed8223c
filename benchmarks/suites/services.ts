import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond, medianMicroseconds } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { processHop } from '../subjects/process-hop.js';

const URL_TEXT = 'https://example.com/path';
/** Calls of one request, one after the other: what is left when the request itself is taken away is the time of the calls. */
const CALLS = 20;

const CALLED = `import { FunctionEntrypoint } from 'edgehost:workers';
export default class extends FunctionEntrypoint {
  fetch() { return new Response('Hello'); }
  hello(name) { return 'Hello ' + name; }
}`;

const CALLER = `export default { async fetch(request, env) {
  const { pathname } = new URL(request.url);
  if (pathname === '/fetch') for (let i = 0; i < ${CALLS}; i++) await (await env.B.fetch('https://b/')).text();
  if (pathname === '/rpc') for (let i = 0; i < ${CALLS}; i++) await env.B.hello('you');
  if (pathname === '/one') await env.B.hello('you');
  return new Response('done');
} };`;

export const services: Benchmark = {
  name: 'services',
  measures:
    'Calls of a function by a function over a service binding: 20 requests or methods one after the other within one request, less the request without them, by 20.',
  floor:
    'one `fn.fetch(url)` of the application to the same function, whose short text is read; the two hops of a call, from the isolate that calls to the host and from there to the one called, as 64 bytes over a socket pair to another process and back, twice.',
  async run(context) {
    const host = startHost(context);
    const called = await host.load(CALLED, { name: 'called' });
    const caller = await host.load(CALLER, { name: 'caller', services: { B: 'called' } });
    const direct = async () => (await called.fetch(URL_TEXT)).text();
    const rpc = () => called.rpc.hello('you');
    const asking = (path: string) => async () => (await caller.fetch(`https://example.com${path}`)).text();
    const hop = processHop(context);
    const hops = async () => {
      await hop();
      await hop();
    };
    const { seconds } = context;
    for (const warm of [direct, rpc, asking('/fetch'), asking('/rpc')]) {
      await callsPerSecond(warm, 16, Math.min(1, seconds));
    }
    await medianMicroseconds(hops, Math.min(1, seconds));
    const perCall = async (path: string): Promise<number> => {
      const [without, all] = [
        await medianMicroseconds(asking('/'), seconds / 2),
        await medianMicroseconds(asking(path), seconds),
      ];
      return (all - without) / CALLS;
    };
    const times = await alternate(context, {
      direct: () => medianMicroseconds(direct, seconds),
      fetch: () => perCall('/fetch'),
      rpc: () => perCall('/rpc'),
      hops: () => medianMicroseconds(hops, seconds / 2),
      application: () => medianMicroseconds(rpc, seconds),
    });
    const rates = await alternate(context, {
      one: () => callsPerSecond(asking('/one'), 64, seconds),
      none: () => callsPerSecond(asking('/'), 64, seconds),
    });
    const floor = { name: 'fn.fetch()', samples: times.direct };
    return [
      {
        name: 'fetch over a service binding, p50',
        unit: 'us',
        samples: times.fetch,
        floor,
        target: { of: 'ratio', atMost: 1.5 },
      },
      { name: 'call of a method, p50', unit: 'us', samples: times.rpc, floor, target: { of: 'ratio', atMost: 1.5 } },
      {
        name: 'call of a method, beside its bare hops, p50',
        unit: 'us',
        samples: times.rpc,
        floor: { name: 'two hops', samples: times.hops },
      },
      {
        name: 'its bare hops beside fn.fetch(), p50',
        unit: 'us',
        samples: times.hops,
        floor,
        note: 'A call wakes four times: the host, the function called, the host, the caller. A request of the application wakes twice.',
      },
      { name: 'fn.rpc of the application, p50', unit: 'us', samples: times.application, floor },
      {
        name: 'requests with one call of a method, 64 in flight',
        unit: 'calls/s',
        samples: rates.one,
        floor: { name: 'without the call', samples: rates.none },
      },
    ];
  },
};
