import { get } from 'node:http';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EdgeFunction } from '../../src/index.js';
import type { Benchmark } from '../benchmark.js';
import { byteStream } from '../measuring/byte-stream.js';
import { peakGrowth } from '../measuring/process-memory.js';
import { alternate } from '../measuring/rounds.js';
import { cellPid, startHost } from '../subjects/host.js';
import { startServer } from '../subprocess.js';

const MEBIBYTE = 1024 * 1024;
const BYTES = 1024 * MEBIBYTE;
/** Between two pauses of a slow reader. */
const STEP_BYTES = 4 * MEBIBYTE;
const PAUSE_MS = 2;
/** Between two looks at what is held after a collection. */
const LOOK_BYTES = 64 * MEBIBYTE;
/** A writer that has not been asked for more for so long waits for its reader. */
const QUIET_MS = 300;

/**
 * `/hold` begins to answer and does not read the request's body before `/release`; `/slow` reads it with pauses. `/endless` writes for as
 * long as it is asked, `/written` says how much it has; `/bytes` writes so many.
 */
const READER_FUNCTION = `
let release = () => {};
let written = 0;
const chunk = new Uint8Array(65536).fill(97);
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const stream = bytes => new ReadableStream({
  pull(controller) {
    written += chunk.length;
    controller.enqueue(chunk.slice());
    if (written >= bytes) controller.close();
  },
});

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/hold') {
      await new Promise(resolve => { release = resolve; });
      await request.body.cancel();
    } else if (pathname === '/release') release();
    else if (pathname === '/slow') {
      let since = 0;
      for await (const bytes of request.body) {
        since += bytes.length;
        if (since < ${STEP_BYTES}) continue;
        since = 0;
        await pause(${PAUSE_MS});
      }
    } else if (pathname === '/written') return new Response(String(written));
    else {
      written = 0;
      return new Response(stream(pathname === '/bytes' ? ${BYTES} : Infinity));
    }
    return new Response('done');
  },
};
`;

export const slowReaders: Benchmark = {
  name: 'slow-readers',
  measures: `Bodies whose reader is slower than their writer: how many bytes are on their way, in both processes and between them, without a reader; and, while 1 GiB goes through with pauses of ${PAUSE_MS} ms every ${STEP_BYTES / MEBIBYTE} MiB, what the application still holds after a forced collection and how much each process grows at its peak, garbage included (Linux).`,
  floor: 'for what processes grow by: a bare `node:http` server and its slow reader.',
  async run(context) {
    const host = startHost(context, {
      limits: { bodyBytes: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY },
    });
    const fn = await host.load(READER_FUNCTION);
    const pids = [process.pid, cellPid(host)];
    const bare = await startServer(context, 'bytes', [String(BYTES)]);
    const none = (): [number[], number[]] => [[], []];
    const growth = { up: none(), down: none(), bare: none() };
    const watched = async (direction: keyof typeof growth, work: () => Promise<number>): Promise<number> => {
      let held = Number.NaN;
      const grown = await peakGrowth(direction === 'bare' ? [process.pid, bare.pid] : pids, async () => {
        held = await work();
      });
      for (const [at, megabytes] of grown.entries()) growth[direction][at]?.push(megabytes);
      return held;
    };
    // The first ones let the heaps grow to their size.
    await uploadSlowly(fn);
    await readSlowly(await bodyOf(fn));
    await readSlowly(await incoming(bare.url));
    const samples = await alternate(context, {
      'held up': () => uploadHeld(fn),
      'held down': () => downloadHeld(fn),
      up: () => watched('up', () => uploadSlowly(fn)),
      down: () => watched('down', async () => readSlowly(await bodyOf(fn))),
      bare: () => watched('bare', async () => readSlowly(await incoming(bare.url))),
    });
    const rows = { up: 'to a function', down: 'from a function' } as const;
    return [
      { name: 'on their way to a function that does not read', unit: 'MB', samples: samples['held up'], target: FEW },
      { name: 'on their way from a function nobody reads', unit: 'MB', samples: samples['held down'], target: FEW },
      ...(['up', 'down'] as const).flatMap(direction => [
        {
          name: `1 GiB ${rows[direction]}: held by the application after a collection, at most`,
          unit: 'MB' as const,
          samples: samples[direction],
          target: FEW,
        },
        ...['application', 'cell'].map((name, at) => ({
          name: `1 GiB ${rows[direction]}: growth of the ${name} at its peak, with garbage`,
          note: 'The forced collections, one every 64 MiB, are in the application alone: the cell keeps what garbage V8 lets it.',
          unit: 'MB' as const,
          samples: growth[direction][at] ?? [],
          // Up, the application is the writer; down, the cell is.
          floor: { name: 'bare Node', samples: growth.bare[direction === 'down' ? at : 1 - at] ?? [] },
        })),
      ]),
    ];
  },
};

const FEW = { of: 'value', atMost: 4 } as const;

/** MB that the writer was asked for while the function read nothing. */
async function uploadHeld(fn: EdgeFunction): Promise<number> {
  let asked = 0;
  const body = byteStream(BYTES, bytes => {
    asked += bytes;
  });
  const answer = fn.fetch('https://example.com/hold', { method: 'POST', body, duplex: 'half' });
  await quiet(async () => asked);
  const held = asked;
  await (await fn.fetch('https://example.com/release')).text();
  await (await answer).text();
  return held / 1e6;
}

/** MB that the function wrote while its body was not read. */
async function downloadHeld(fn: EdgeFunction): Promise<number> {
  const { body } = await fn.fetch('https://example.com/endless');
  const written = async (): Promise<number> => Number(await (await fn.fetch('https://example.com/written')).text());
  const held = await quiet(written);
  await body?.cancel();
  return held / 1e6;
}

/** The value once it has stopped changing. */
async function quiet(figure: () => Promise<number>): Promise<number> {
  for (let last = -1; ; ) {
    const now = await figure();
    if (now === last) return now;
    last = now;
    await pause(QUIET_MS);
  }
}

async function uploadSlowly(fn: EdgeFunction): Promise<number> {
  const held = new HeldMemory();
  const body = byteStream(BYTES, bytes => held.count(bytes));
  const response = await fn.fetch('https://example.com/slow', { method: 'POST', body, duplex: 'half' });
  if ((await response.text()) !== 'done') throw new Error(`The upload was answered with ${response.status}`);
  return held.most;
}

async function readSlowly(body: AsyncIterable<Uint8Array>): Promise<number> {
  const held = new HeldMemory();
  let since = 0;
  for await (const chunk of body) {
    held.count(chunk.length);
    since += chunk.length;
    if (since < STEP_BYTES) continue;
    since = 0;
    await pause(PAUSE_MS);
  }
  return held.most;
}

async function bodyOf(fn: EdgeFunction): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await fn.fetch('https://example.com/bytes');
  if (body === null) throw new Error('The answer has no body');
  return body;
}

function incoming(url: string): Promise<AsyncIterable<Uint8Array>> {
  return new Promise((resolve, reject) => get(url, resolve).on('error', reject));
}

/** What this process holds outside of its heap and cannot be collected, in MB more than at the beginning. */
class HeldMemory {
  readonly #before = externalAfterCollection();
  #passed = 0;
  most = 0;

  count(bytes: number): void {
    const before = this.#passed;
    this.#passed += bytes;
    if (Math.floor(this.#passed / LOOK_BYTES) === Math.floor(before / LOOK_BYTES)) return;
    this.most = Math.max(this.most, (externalAfterCollection() - this.#before) / 1e6);
  }
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function externalAfterCollection(): number {
  // The memory of dead array buffers is counted out by another thread, for which the next collection waits.
  collect();
  collect();
  // It has the array buffers in it.
  return process.memoryUsage().external;
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
