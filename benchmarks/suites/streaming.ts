import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Benchmark } from '../benchmark.js';
import { byteStream, drain } from '../measuring/byte-stream.js';
import { peakGrowth } from '../measuring/process-memory.js';
import { alternate } from '../measuring/rounds.js';
import { timed } from '../measuring/workload.js';
import { startServer } from '../subprocess.js';

const BYTES = 256 * 1024 * 1024;

const PASSING = `export default {
  fetch(request) {
    return new Response(request.body);
  },
};
`;

/** Each chunk goes through code of the function. */
const TRANSFORMING = `export default {
  fetch(request) {
    let bytes = 0;
    const counter = new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        controller.enqueue(chunk);
      },
    });
    return new Response(request.body.pipeThrough(counter));
  },
};
`;

export const streaming: Benchmark = {
  name: 'streaming',
  measures: '256 MiB of a request body sent back as the response body, over HTTP.',
  floor: 'a `node:http` proxy before a `node:http` server that does the same.',
  async run(context) {
    const passing = await startServer(context, 'host', [PASSING]);
    const transforming = await startServer(context, 'host', [TRANSFORMING]);
    const echo = await startServer(context, 'echo');
    const proxy = await startServer(context, 'proxy', [echo.url]);
    const speed = async (url: string): Promise<number> => BYTES / 1000 / (await timed(() => sendThrough(url)));
    const [hostGrowth, cellGrowth] = [[] as number[], [] as number[]];
    const watched = async (): Promise<number> => {
      let speedThen = Number.NaN;
      const [host = Number.NaN, cell = Number.NaN] = await peakGrowth([passing.pid, ...passing.children], async () => {
        speedThen = await speed(passing.url);
      });
      hostGrowth.push(host);
      cellGrowth.push(cell);
      return speedThen;
    };
    const samples = await alternate(context, {
      passing: watched,
      transforming: () => speed(transforming.url),
      proxy: () => speed(proxy.url),
      echo: () => speed(echo.url),
    });
    const floor = { name: 'node:http proxy', samples: samples.proxy };
    return [
      {
        name: 'new Response(request.body)',
        unit: 'MB/s',
        samples: samples.passing,
        floor,
        target: { of: 'ratio', atLeast: 0.4 },
      },
      {
        name: 'through a TransformStream',
        unit: 'MB/s',
        samples: samples.transforming,
        floor,
        target: { of: 'ratio', atLeast: 0.4 },
      },
      { name: 'a node:http echo without proxy', unit: 'MB/s', samples: samples.echo, floor },
      { name: 'growth of the application at its peak', unit: 'MB', samples: hostGrowth },
      { name: 'growth of the cell at its peak', unit: 'MB', samples: cellGrowth },
    ];
  },
};

async function sendThrough(url: string): Promise<void> {
  const outgoing = request(url, { method: 'POST', headers: { 'content-length': BYTES } });
  const answered = new Promise<void>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', response => {
      if (response.statusCode === 200) resolve(drain(response, BYTES));
      else reject(new Error(`The stream was answered with ${response.statusCode}`));
    });
  });
  await Promise.all([pipeline(Readable.fromWeb(byteStream(BYTES)), outgoing), answered]);
}
