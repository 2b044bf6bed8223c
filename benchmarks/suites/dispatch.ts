import process from 'node:process';
import type { Benchmark } from '../benchmark.js';
import { CpuBill } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond, medianMicroseconds } from '../measuring/workload.js';
import { cellPid, startHost } from '../subjects/host.js';
import { processHop } from '../subjects/process-hop.js';
import { TEXT_FUNCTION } from '../subjects/sources.js';

const URL_TEXT = 'https://example.com/path?query=1';

export const dispatch: Benchmark = {
  name: 'dispatch',
  measures:
    'A call of `fn.fetch(url)` inside the application, a GET that is answered with a short text, which is read.',
  floor:
    'a handler called directly in the same process, which makes a Request and a Response of Node; 64 bytes over a socket pair to another process and back.',
  async run(context) {
    const host = startHost(context);
    const fn = await host.load(TEXT_FUNCTION);
    const call = async () => (await fn.fetch(URL_TEXT)).text();
    const callOnly = () => fn.fetch(URL_TEXT);
    const echo = async (request: Request) => new Response(`Hello ${request.method}`);
    const direct = async () => (await echo(new Request(URL_TEXT))).text();
    const hop = processHop(context);
    const { seconds } = context;

    for (const warm of [call, direct, callOnly]) await callsPerSecond(warm, 64, Math.min(1, seconds));
    await medianMicroseconds(hop, Math.min(1, seconds));
    const times = await alternate(context, {
      'function, 1 in flight': () => medianMicroseconds(call, seconds),
      'function, body unread': () => medianMicroseconds(callOnly, seconds),
      'hop, 1 in flight': () => medianMicroseconds(hop, seconds),
      'direct, 1 in flight': () => medianMicroseconds(direct, Math.min(1, seconds)),
    });
    const hostBill = new CpuBill([process.pid]);
    const cellBill = new CpuBill([cellPid(host)]);
    const rates = await alternate(context, {
      'function, 64 in flight': () => hostBill.around(() => cellBill.around(() => callsPerSecond(call, 64, seconds))),
      'function, body unread, 64 in flight': () => callsPerSecond(callOnly, 64, seconds),
      'direct, 64 in flight': () => callsPerSecond(direct, 64, Math.min(1, seconds)),
    });
    const direct1 = { name: 'direct', samples: times['direct, 1 in flight'] };
    const direct64 = { name: 'direct', samples: rates['direct, 64 in flight'] };
    return [
      {
        name: 'one call, p50, 1 in flight',
        unit: 'us',
        samples: times['function, 1 in flight'],
        floor: direct1,
        target: { of: 'value', atMost: 110 },
        note: 'It has the waking of two processes in it, which the row below measures alone.',
      },
      {
        name: 'the same beside a bare hop to another process and back',
        unit: 'us',
        samples: times['function, 1 in flight'],
        floor: { name: 'hop', samples: times['hop, 1 in flight'] },
      },
      {
        name: 'the same, its body unread',
        unit: 'us',
        samples: times['function, body unread'],
        floor: direct1,
      },
      {
        name: 'calls, 64 in flight',
        unit: 'calls/s',
        samples: rates['function, 64 in flight'],
        floor: direct64,
        target: { of: 'value', atLeast: 60_000 },
      },
      {
        name: 'the same, their bodies unread',
        unit: 'calls/s',
        samples: rates['function, body unread, 64 in flight'],
        floor: direct64,
      },
      { name: 'CPU time of the application per call, 64 in flight', unit: 'us', samples: hostBill.samples },
      { name: 'CPU time of the cell per call, 64 in flight', unit: 'us', samples: cellBill.samples },
    ];
  },
};
