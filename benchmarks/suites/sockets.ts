import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Benchmark } from '../benchmark.js';
import { byteStream, drain } from '../measuring/byte-stream.js';
import { alternate } from '../measuring/rounds.js';
import { timed } from '../measuring/workload.js';
import { startServer } from '../subprocess.js';

const BYTES = 256 * 1024 * 1024;
/** Less than the limit of request bodies. */
const SENT_BYTES = 64 * 1024 * 1024;

const functionOf = (port: string, answer: string): string => `
import { connect } from 'edgehost:sockets';

export default {
  async fetch(request) {
    const socket = connect({ hostname: '127.0.0.1', port: ${port} });
    if (request.method === 'POST') {
      await request.body.pipeTo(socket.writable);
      return new Response(socket.readable);
    }
    const writer = socket.writable.getWriter();
    await writer.write('send ${BYTES}\\n');
    return new Response(${answer});
  },
};
`;

/** Each chunk goes through code of the function. */
const COUNTED = `socket.readable.pipeThrough(new TransformStream({ transform: (chunk, controller) => controller.enqueue(chunk) }))`;

export const sockets: Benchmark = {
  name: 'sockets',
  measures: '256 MiB through a function from a TCP server to an HTTP client, and 64 MiB from there to the TCP server.',
  floor: 'a bare proxy: `node:http` and `node:net`.',
  async run(context) {
    const target = await startServer(context, 'tcp-bytes');
    const { port } = new URL(target.url);
    const passing = await startServer(context, 'host', [functionOf(port, 'socket.readable'), 'loopback']);
    const through = await startServer(context, 'host', [functionOf(port, COUNTED), 'loopback']);
    const proxy = await startServer(context, 'socket-proxy', [port, String(BYTES)]);
    const speed = async (bytes: number, work: () => Promise<void>): Promise<number> =>
      bytes / 1000 / (await timed(work));
    const samples = await alternate(context, {
      passing: () => speed(BYTES, () => receive(passing.url)),
      through: () => speed(BYTES, () => receive(through.url)),
      proxy: () => speed(BYTES, () => receive(proxy.url)),
      sending: () => speed(SENT_BYTES, () => send(passing.url)),
      proxySending: () => speed(SENT_BYTES, () => send(proxy.url)),
    });
    const floor = { name: 'bare proxy', samples: samples.proxy };
    const target04 = { of: 'ratio', atLeast: 0.4 } as const;
    return [
      { name: 'new Response(socket.readable)', unit: 'MB/s', samples: samples.passing, floor, target: target04 },
      { name: 'socket.readable through a TransformStream', unit: 'MB/s', samples: samples.through, floor },
      {
        name: 'request.body.pipeTo(socket.writable)',
        unit: 'MB/s',
        samples: samples.sending,
        floor: { name: 'bare proxy', samples: samples.proxySending },
        target: target04,
      },
    ];
  },
};

function receive(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, response => {
      if (response.statusCode === 200) resolve(drain(response, BYTES));
      else reject(new Error(`The stream was answered with ${response.statusCode}`));
    })
      .once('error', reject)
      .end();
  });
}

async function send(url: string): Promise<void> {
  const outgoing = request(url, { method: 'POST', headers: { 'content-length': SENT_BYTES } });
  const answered = new Promise<string>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', async response => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve(Buffer.concat(chunks).toString());
    });
  });
  await pipeline(Readable.fromWeb(byteStream(SENT_BYTES)), outgoing);
  const count = await answered;
  if (count !== String(SENT_BYTES)) throw new Error(`The server got ${count} bytes of ${SENT_BYTES}`);
}
