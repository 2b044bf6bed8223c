import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { Benchmark } from '../benchmark.js';
import { byteStream, drain } from '../measuring/byte-stream.js';
import { peakGrowth } from '../measuring/process-memory.js';
import { alternate } from '../measuring/rounds.js';
import { meanTime } from '../measuring/workload.js';
import { BUCKET_FUNCTION, content } from '../subjects/bucket-function.js';
import { cellPid, startHost } from '../subjects/host.js';

const BYTES = 64 * 1024 * 1024;
const TRANSFERS_PER_ROUND = 4;

export const bucketLarge: Benchmark = {
  name: 'bucket-large',
  measures: `An object of 64 MiB, streamed into a bucket on disk and out of it, through a function and from the application; the mean of ${TRANSFERS_PER_ROUND} in each round. Memory is watched in transfers of their own, since reading it takes time.`,
  floor: 'the same bytes written to a file with fsync, and read from it.',
  async run(context) {
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const fn = await host.load(BUCKET_FUNCTION, { buckets: { FILES: 'files' } });
    const bucket = host.bucket('files');
    const pids = [process.pid, cellPid(host)];
    const growth = { put: [[] as number[], [] as number[]], get: [[] as number[], [] as number[]] };
    const speed = async (work: () => Promise<unknown>): Promise<number> =>
      BYTES / 1000 / (await meanTime(TRANSFERS_PER_ROUND, work));
    /** The speed, and on the side how much each process grows at its peak. */
    const watched = async (kind: 'put' | 'get', work: () => Promise<unknown>): Promise<number> => {
      for (const [at, megabytes] of (await peakGrowth(pids, work)).entries()) growth[kind][at]?.push(megabytes);
      return speed(work);
    };
    const file = join(context.folder, 'file');

    const upload = async (): Promise<void> => {
      const body = byteStream(BYTES);
      const response = await fn.fetch('https://example.com/upload', { method: 'PUT', body, duplex: 'half' });
      if ((await response.text()) !== 'done') throw new Error(`The upload was answered with ${response.status}`);
    };
    const download = async (): Promise<void> => drain((await fn.fetch('https://example.com/download')).body, BYTES);

    // The first ones run code that is not compiled yet, and let the heaps grow to their size.
    for (let at = 0; at < 2; at++) {
      await upload();
      await download();
    }
    const samples = await alternate(context, {
      'put, function': () => watched('put', upload),
      'get, function': () => watched('get', download),
      'put, application': () => speed(() => bucket.put('large', byteStream(BYTES))),
      'get, application': () => speed(async () => drain((await content(bucket, 'large')).body, BYTES)),
      'put, file': () => speed(() => writeFile(file)),
      'get, file': () => speed(() => readFile(file)),
    });
    const putFloor = { name: 'file and fsync', samples: samples['put, file'] };
    const getFloor = { name: 'file', samples: samples['get, file'] };
    return [
      {
        name: 'put, function',
        unit: 'MB/s',
        samples: samples['put, function'],
        floor: putFloor,
        target: { of: 'value', atLeast: 250 },
      },
      {
        name: 'put, application',
        unit: 'MB/s',
        samples: samples['put, application'],
        floor: putFloor,
        target: { of: 'value', atLeast: 250 },
      },
      {
        name: 'get, function',
        unit: 'MB/s',
        samples: samples['get, function'],
        floor: getFloor,
        target: { of: 'value', atLeast: 500 },
      },
      {
        name: 'get, application',
        unit: 'MB/s',
        samples: samples['get, application'],
        floor: getFloor,
        target: { of: 'value', atLeast: 500 },
      },
      ...(['put', 'get'] as const).flatMap(kind =>
        (['application process', 'cell'] as const).map((name, at) => ({
          name: `${kind}, function: growth of the ${name} at its peak`,
          unit: 'MB' as const,
          samples: growth[kind][at] ?? [],
          target: { of: 'value', atMost: 32 } as const,
        })),
      ),
    ];
  },
};

async function writeFile(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    for await (const chunk of byteStream(BYTES)) await file.write(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
