import { join } from 'node:path';
import type { Benchmark, BenchmarkContext, Figure } from '../benchmark.js';
import { requestsPerSecond } from '../measuring/http-load.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond, medianMicroseconds, timed } from '../measuring/workload.js';
import { installPeer } from '../peers/install.js';
import type { Peer } from '../peers/peer.js';
import { PEERS } from '../peers/peers.js';
import { measurePlatform } from '../peers/platform.js';
import { measurePeerRuns } from '../runs/peer-runs.js';
import { BUCKET_FUNCTION } from '../subjects/bucket-function.js';
import { largeFunction, TEXT_FUNCTION } from '../subjects/sources.js';
import { startServer } from '../subprocess.js';

const URL_TEXT = 'https://example.com/path?query=1';
const CALLS_PER_REQUEST = 50;

export const peers: Benchmark = {
  name: 'peers',
  isOptional: true,
  measures:
    'Other runtimes with the same functions: calls inside the process, HTTP at 64 connections, cold start of 20 KB, the bucket, and key-value, cache and service bindings beside ours. Other sandboxes with the run of `runs`.',
  floor: 'for HTTP, a bare `node:http` server.',
  async run(context) {
    const figures: Figure[] = [];
    for (const peer of PEERS) {
      try {
        context.progress(`installing ${peer.packages.join(' ')}`);
        figures.push(...(await measure(peer, await installPeer(peer, context.folder), context)));
      } catch (error) {
        context.progress(`${peer.name} skipped: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    figures.push(...(await measurePeerRuns(context)));
    if (figures.length === 0) throw new Error('No peer could be installed and measured; see above');
    return figures;
  },
};

async function measure(peer: Peer, folder: string, context: BenchmarkContext): Promise<Figure[]> {
  const { seconds } = context;
  const progress = (text: string): void => context.progress(`${peer.name}, ${text}`);
  const bare = await startServer(context, 'bare');
  const server = await startServer(context, 'peer', [peer.name, folder, TEXT_FUNCTION]);
  const fn = await peer.load(folder, TEXT_FUNCTION);
  const call = (): Promise<string> => fn.call(URL_TEXT);
  const load = (url: string): Promise<number> =>
    requestsPerSecond({ url, connections: 64, seconds, folder: context.folder });
  let serial = 0;
  const coldStart = (): Promise<number> => {
    const source = largeFunction(20, `load ${++serial}`);
    return timed(async () => {
      const loaded = await peer.load(folder, source);
      await loaded.call('https://example.com/');
      context.defer(() => loaded.close());
    });
  };
  try {
    await callsPerSecond(call, 64, Math.min(1, seconds));
    await load(server.url);
    const samples = await alternate(
      { ...context, progress },
      {
        call: () => medianMicroseconds(call, seconds),
        calls: () => callsPerSecond(call, 64, seconds),
        http: () => load(server.url),
        bare: () => load(bare.url),
        coldStart,
      },
    );
    return [
      { name: `${peer.name}: one call, p50, 1 in flight`, unit: 'us', samples: samples.call, note: peer.note },
      { name: `${peer.name}: calls, 64 in flight`, unit: 'calls/s', samples: samples.calls },
      {
        name: `${peer.name}: GET`,
        unit: 'requests/s',
        samples: samples.http,
        floor: { name: 'bare node:http', samples: samples.bare },
      },
      { name: `${peer.name}: cold start`, unit: 'ms', samples: samples.coldStart },
      ...(peer.hasBucket ? await measureBucket(peer, folder, { ...context, progress }) : []),
      ...(await measureServices(peer, folder, { ...context, progress })),
    ];
  } finally {
    await fn.close();
    await Promise.all([server.stop(), bare.stop()]);
  }
}

async function measureServices(peer: Peer, folder: string, context: BenchmarkContext): Promise<Figure[]> {
  const fn = await peer.loadPlatform?.(folder, join(context.folder, `${peer.name}-platform`));
  if (fn === undefined) return [];
  try {
    return await measurePlatform(peer.name, fn, context);
  } finally {
    await fn.close();
  }
}

async function measureBucket(peer: Peer, folder: string, context: BenchmarkContext): Promise<Figure[]> {
  const fn = await peer.load(folder, BUCKET_FUNCTION, join(context.folder, `${peer.name}-data`));
  let serial = 0;
  const rate = async (action: string, inFlight: number): Promise<number> => {
    const request = async (): Promise<void> => {
      serial += CALLS_PER_REQUEST;
      const text = await fn.call(`https://example.com/${action}?count=${CALLS_PER_REQUEST}&serial=${serial}`);
      if (text !== 'done') throw new Error(`The ${action} of ${peer.name} answered ${text.slice(0, 200)}`);
    };
    return CALLS_PER_REQUEST * (await callsPerSecond(request, inFlight, context.seconds));
  };
  try {
    for (let at = 0; at < 1000; at += CALLS_PER_REQUEST) {
      await fn.call(`https://example.com/put?count=${CALLS_PER_REQUEST}&serial=${at}`);
    }
    const samples = await alternate(context, {
      'put, 1 in flight': () => rate('put', 1),
      'put, 16 in flight': () => rate('put', 16),
      'get, 16 in flight': () => rate('get', 16),
      'head, 16 in flight': () => rate('head', 16),
    });
    return Object.entries(samples).map(([name, each]) => ({
      name: `${peer.name}: bucket ${name}, function`,
      unit: 'calls/s',
      samples: each,
    }));
  } finally {
    await fn.close();
  }
}
