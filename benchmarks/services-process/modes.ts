/** The two places where services run, measured in turn. */
import { join } from 'node:path';
import type { EdgeFunction, EdgeHost, StoreBucket } from '../../src/index.js';
import type { BenchmarkContext } from '../benchmark.js';
import { startHost } from '../subjects/host.js';
import { KEYS, STORING_FUNCTION, VALUE_BYTES } from './storing-function.js';

export const MODES = ['inline', 'process'] as const;
export type Mode = (typeof MODES)[number];

/** A host in this process, with a function and its bucket. */
export interface Subject {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  readonly bucket: StoreBucket;
  /** Asks the function, and checks that it has done what it was asked to. */
  ask(path: string): Promise<void>;
}

export async function startSubjects(context: BenchmarkContext): Promise<Readonly<Record<Mode, Subject>>> {
  return { inline: await startSubject(context, 'inline'), process: await startSubject(context, 'process') };
}

async function startSubject(context: BenchmarkContext, mode: Mode): Promise<Subject> {
  const host = startHost(context, { storage: join(context.folder, `calls-${mode}`), backend: mode });
  const fn = await host.load(STORING_FUNCTION, { buckets: { FILES: 'files' } });
  const bucket = host.bucket('files');
  const value = 'v'.repeat(VALUE_BYTES);
  await Promise.all(Array.from({ length: KEYS }, (_, at) => bucket.put(`key-${at}`, value)));
  const ask = async (path: string): Promise<void> => {
    const response = await fn.fetch(`https://example.com/${path}`);
    const text = await response.text();
    if (text !== 'done') throw new Error(`The function answered ${response.status} ${text.slice(0, 200)}`);
  };
  return { host, fn, bucket, ask };
}
