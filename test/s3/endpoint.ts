import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { BucketDirectory, BucketEngine } from '../../src/bindings/bucket/engine.js';
import { createS3Handler, type S3Handler } from '../../src/s3/handler.js';
import type { S3Options } from '../../src/s3/options.js';
import type { Storage } from '../../src/storage/storage.js';
import { remoteBuckets, remotePair } from '../backend/client/pair.js';
import { servedObjects } from '../backend/client/served.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { bytesOf, clientOf, open, type Protocol } from '../host/protocols.js';
import { portOf } from '../servers.js';
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
  const directory = remoteBuckets(remotePair(servedObjects(storage, () => local)).link, 'test');
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
let usualProtocol: Protocol = 'HTTP/1.1';

/** From here on the buckets of every endpoint of this process are used over a connection. */
export function useRemoteBuckets(): void {
  areBucketsRemote = true;
}

/** From here on every endpoint of this process is behind a server of HTTP/2. */
export function useHttp2(): void {
  usualProtocol = 'HTTP/2';
}

export async function openDoor(
  t: ExecutionContext,
  options: Partial<S3Options> & {
    readonly onDisk?: boolean;
    readonly minPartBytes?: number;
    /** The buckets are used over a connection. @default false */
    readonly isRemote?: boolean;
    /** @default HTTP/1.1, unless useHttp2() was called */
    readonly protocol?: Protocol;
  } = {},
): Promise<Door> {
  const { onDisk = false, minPartBytes, isRemote = areBucketsRemote, protocol = usualProtocol, ...s3 } = options;
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
  // Before the server, which ends first.
  t.teardown(async () => {
    await storage.close();
    if (onDisk) await rm(directory, { recursive: true, force: true });
  });
  const servers: Server[] = [];
  const endpoint = await clientOf(protocol).listen(t, handler.listener, server => {
    server.on('checkContinue', handler.continueListener);
    servers.push(server);
  });
  const [server] = servers;
  if (server === undefined) throw new Error('There is no server');
  const port = portOf(server);
  return {
    handler,
    buckets,
    server,
    port,
    endpoint,
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

/** Sends exactly this, over the protocol of the endpoint. */
export async function exchange(
  port: number,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array = Buffer.alloc(0),
): Promise<Reply> {
  const sent = open(`http://127.0.0.1:${port}`, { method, target, headers }, body.length > 0);
  if (body.length > 0) sent.body.end(body);
  const answer = await sent.answer;
  const bytes = await bytesOf(answer);
  const text = bytes.toString('utf8');
  return {
    status: answer.status,
    headers: Object.fromEntries([...answer.fields].map(([name, values]) => [name, values.join(', ')])),
    bytes,
    text,
    code: /<Code>([^<]*)<\/Code>/.exec(text)?.[1],
  };
}
