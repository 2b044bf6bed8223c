import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { BucketDirectory, BucketEngine } from '../../src/bindings/bucket/engine.js';
import { createS3Handler, type S3Handler } from '../../src/s3/handler.js';
import type { S3Options } from '../../src/s3/options.js';
import { remoteDirectory } from '../../src/services/remote/remote-buckets.js';
import type { Storage } from '../../src/storage/storage.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { remotePair } from '../services/remote/pair.js';
import { servedObjects } from '../services/remote/served.js';
import { type SignOptions, signRequest } from './sign.js';

/** The S3 endpoint on a storage of its own, behind a server of its own on 127.0.0.1. */
export interface Door {
  readonly handler: S3Handler;
  readonly buckets: BucketDirectory;
  readonly server: Server;
  readonly port: number;
  readonly endpoint: string;
  readonly errors: unknown[];
  /** Signs and sends; the target goes out as it is. */
  send(method: string, target: string, options?: SendOptions): Promise<Reply>;
}

export interface SendOptions extends SignOptions {
  /** null: no body and no Content-Length. */
  readonly body?: Uint8Array | string | null;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The content of the error document's Code. */
  readonly code: string | undefined;
}

export const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
} as const;

/** There is one engine for each bucket, as without a connection: tests replace its methods. */
function overConnection(storage: Storage, local: BucketDirectory): BucketDirectory {
  const directory = remoteDirectory(remotePair(servedObjects(storage, () => local)).link, 'test');
  const engines = new Map<string, BucketEngine>();
  const known = (engine: BucketEngine): BucketEngine => {
    const first = engines.get(engine.id) ?? engine;
    engines.set(engine.id, first);
    return first;
  };
  return {
    ...directory,
    open: async name => known(await directory.open(name)),
    find: async name => {
      const engine = await directory.find(name);
      return engine === null ? null : known(engine);
    },
  };
}

let areBucketsRemote = false;

/** From here on the buckets of every endpoint of this process are used over a connection. */
export function useRemoteBuckets(): void {
  areBucketsRemote = true;
}

export async function openDoor(
  t: ExecutionContext,
  options: Partial<S3Options> & {
    readonly onDisk?: boolean;
    readonly minPartBytes?: number;
    /** The buckets are used over a connection. @default false */
    readonly isRemote?: boolean;
  } = {},
): Promise<Door> {
  const { onDisk = false, minPartBytes, isRemote = areBucketsRemote, ...s3 } = options;
  const directory = onDisk ? await mkdtemp(join(tmpdir(), 'edgehost-s3-')) : ':memory:';
  const storage = await openBuckets(directory, minPartBytes === undefined ? {} : { minPartBytes });
  const local = bucketsOf(storage, 'test');
  const buckets = isRemote ? overConnection(storage, local) : local;
  await buckets.create('files');
  const errors: unknown[] = [];
  const handler = createS3Handler({
    credentials: [{ ...KEYS, buckets: '*' }],
    buckets: () => buckets,
    onError: error => errors.push(error),
    ...s3,
  });
  const server = createServer(handler.listener);
  server.on('checkContinue', handler.continueListener);
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise(resolve => {
      server.close(resolve);
    });
    await storage.close();
    if (onDisk) await rm(directory, { recursive: true, force: true });
  });
  return {
    handler,
    buckets,
    server,
    port,
    endpoint: `http://127.0.0.1:${port}`,
    errors,
    send: (method, target, sendOptions = {}) => send(port, method, target, sendOptions),
  };
}

async function send(port: number, method: string, target: string, options: SendOptions): Promise<Reply> {
  const body = options.body === undefined || options.body === null ? Buffer.alloc(0) : Buffer.from(options.body);
  const signed = signRequest(method, target, { host: `127.0.0.1:${port}`, ...KEYS, body, ...options });
  const length =
    body.length > 0 || method === 'PUT' || method === 'POST' ? { 'content-length': String(body.length) } : {};
  return exchange(port, method, signed.target, { ...(options.body === null ? {} : length), ...signed.headers }, body);
}

/** Sends exactly this. */
export function exchange(
  port: number,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array = Buffer.alloc(0),
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path: target, headers, agent: false }, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text,
          code: /<Code>([^<]*)<\/Code>/.exec(text)?.[1],
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
