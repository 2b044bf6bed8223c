/**
 * How long one body stops the application's main thread, for each interface that takes bodies: the CPU time between two rounds of the event loop, the longest one
 * for each MB of the body. Processor time, so other load on the machine hardly matters. Run by `node dist/benchmarks/longest-stalls.js [MB]`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AwsClient } from 'aws4fetch';
import { EdgeHost } from '../src/index.js';

const MEGABYTE = 1_000_000;
const megabytes = Number(process.argv[2] ?? 4);
const size = megabytes * MEGABYTE;
const TOKEN = 't'.repeat(40);
const ACCOUNT = '/accounts/acme';

/** Watches the event loop: processor time of this process between two of its rounds, milliseconds. */
class Stalls {
  longestMs = 0;
  #last = process.cpuUsage();
  #next = setImmediate(() => this.#look());

  stop(): void {
    clearImmediate(this.#next);
  }

  reset(): void {
    this.longestMs = 0;
    this.#last = process.cpuUsage();
  }

  #look(): void {
    const { user, system } = process.cpuUsage(this.#last);
    this.#last = process.cpuUsage();
    this.longestMs = Math.max(this.longestMs, (user + system) / 1000);
    this.#next = setImmediate(() => this.#look());
  }
}

/** As many of `item` as make up the size, with a comma between them. */
function many(item: (i: number) => string, most = size): string {
  const items: string[] = [];
  for (let i = 0, length = 0; length < most; i++) {
    const text = item(i);
    items.push(text);
    length += text.length + 1;
  }
  return items.join();
}

const METADATA = 'Content-Disposition: form-data; name="metadata"\r\nContent-Type: application/json';
const MODULE =
  'Content-Disposition: form-data; name="i.js"; filename="i.js"\r\nContent-Type: application/javascript+module';

function form(...parts: readonly (readonly [head: string, content: string])[]): string {
  return `${parts.map(([head, content]) => `--B\r\n${head}\r\n\r\n${content}\r\n`).join('')}--B--\r\n`;
}

const small = (head: (i: number) => string, count: number) =>
  form(...Array.from({ length: count }, (_, i) => [head(i), 'x'] as const));

const multipart = 'multipart/form-data; boundary=B';
const json = 'application/json';
const oneMegabyte = Math.min(size, MEGABYTE);

type Case = readonly [name: string, method: string, path: string, type: string, body: string];

const management: readonly Case[] = [
  [
    'upload, small files',
    'PUT',
    `${ACCOUNT}/functions/f`,
    multipart,
    small(
      i => `Content-Disposition: form-data; name="p${i}"; filename="a"\r\nContent-Type: text/plain`,
      megabytes * 9000,
    ),
  ],
  [
    'upload, fields',
    'PUT',
    `${ACCOUNT}/functions/f`,
    multipart,
    small(i => `Content-Disposition: form-data; name="p${i}"`, megabytes * 15_000),
  ],
  [
    'upload, metadata of names',
    'PUT',
    `${ACCOUNT}/functions/f`,
    multipart,
    form([METADATA, `{${many(i => `"k${i}":0`)}}`]),
  ],
  ['upload, metadata that is nested', 'PUT', `${ACCOUNT}/functions/f`, multipart, form([METADATA, '['.repeat(size)])],
  [
    'upload, no boundary inside',
    'PUT',
    `${ACCOUNT}/functions/f`,
    multipart,
    `--B\r\n${METADATA}\r\n\r\n${'\r\n--'.repeat(size / 4)}`,
  ],
  [
    'upload, a module',
    'PUT',
    `${ACCOUNT}/functions/f`,
    multipart,
    form(
      [METADATA, '{"main_module":"i.js"}'],
      [MODULE, `export default { fetch: () => new Response("x") };//${'x'.repeat(size)}`],
    ),
  ],
  ['JSON, names', 'POST', `${ACCOUNT}/tokens`, json, `{${many(i => `"k${i}":0`, oneMegabyte - 20_000)}}`],
  ['JSON, nested', 'POST', `${ACCOUNT}/tokens`, json, '['.repeat(oneMegabyte - 1000)],
  [
    'schedules',
    'PUT',
    `${ACCOUNT}/functions/f/schedules`,
    json,
    `[${many(() => '{"cron":"* * * * *"}', oneMegabyte - 20_000)}]`,
  ],
  [
    'bindings',
    'PUT',
    `${ACCOUNT}/functions/f/bindings`,
    json,
    `[${many(i => `{"type":"plain_text","name":"B${i}","text":"x"}`, oneMegabyte - 20_000)}]`,
  ],
  [
    'queue, a batch',
    'POST',
    `${ACCOUNT}/queues/q/messages/batch`,
    json,
    `{"messages":[${many(() => '{"body":1}', oneMegabyte - 20_000)}]}`,
  ],
  [
    'SQL, parameters',
    'POST',
    `${ACCOUNT}/sql/databases/d/query`,
    json,
    `{"sql":"SELECT 1","params":[${many(() => '1', oneMegabyte - 20_000)}]}`,
  ],
  [
    'SQL, import',
    'POST',
    `${ACCOUNT}/sql/databases/d/import`,
    'application/sql',
    `${`-- ${'x'.repeat(96)}\n`.repeat(size / 100)}SELECT 1;\n`,
  ],
  [
    'key-value, pairs',
    'PUT',
    `${ACCOUNT}/kv/namespaces/n/bulk`,
    json,
    `[${Array.from({ length: 10_000 }, (_, i) => `{"key":"${i}","value":"${'v'.repeat(Math.max(1, Math.floor(size / 10_000) - 30))}"}`).join()}]`,
  ],
  ['key-value, a value', 'PUT', `${ACCOUNT}/kv/namespaces/n/values/k`, 'application/octet-stream', 'v'.repeat(size)],
];

const s3: readonly Case[] = [
  [
    'DeleteObjects',
    'POST',
    '/b?delete',
    'application/xml',
    `<Delete>${many(i => `<Object><Key>k${i}</Key></Object>`).replaceAll(',', '')}</Delete>`,
  ],
  [
    'CompleteMultipartUpload',
    'POST',
    '/b/k?uploadId=u',
    'application/xml',
    `<CompleteMultipartUpload>${many(i => `<Part><PartNumber>${i}</PartNumber><ETag>e</ETag></Part>`).replaceAll(',', '')}</CompleteMultipartUpload>`,
  ],
  [
    'PutBucketLifecycle',
    'PUT',
    '/b?lifecycle',
    'application/xml',
    `<LifecycleConfiguration>${'<Rule>'.repeat(size / 6)}`,
  ],
  ['PutObject', 'PUT', '/b/k', 'application/octet-stream', 'v'.repeat(size)],
];

const host = new EdgeHost({ storage: ':memory:' });
const acme = host.account('acme');
for (const event of ['warning', 'log'] as const) host.on(event, () => {});
const fn = await acme.load(
  'export default { async fetch(r) { return new Response(String((await r.arrayBuffer()).byteLength)) } }',
  { name: 'reads' },
);
const calls = await acme.load(
  `export default { async fetch(r, env) { const all = []; for (let i = 0; i < 9000; i++) all.push({ [1023 + i]: i, 2500: i }); return new Response(await env.APP.take(all)); } }`,
  { name: 'calls', bindings: { APP: { take: (all: readonly unknown[]) => `${all.length}` } } },
);
const api = host.management({ tokens: [{ name: 't', token: TOKEN, account: 'acme', permissions: 'all' }] });
const stalls = new Stalls();

async function measure(what: string, bytes: number, run: () => Promise<Response>): Promise<void> {
  // Bodies were made before, and the first rounds are over.
  globalThis.gc?.();
  await new Promise(resolve => setTimeout(resolve, 50));
  stalls.reset();
  const status = await run().then(
    async answer => {
      await answer.arrayBuffer();
      return `${answer.status}`;
    },
    (error: unknown) => String(error).slice(0, 60),
  );
  await new Promise(setImmediate);
  const ms = stalls.longestMs;
  console.log(
    `${what.padEnd(44)} ${(bytes / MEGABYTE).toFixed(1).padStart(6)} MB  ${status.padEnd(6)} longest ${ms.toFixed(1).padStart(8)} ms  ${(ms / (bytes / MEGABYTE)).toFixed(1).padStart(8)} ms/MB`,
  );
}

const listener = createServer(host.listener({ function: fn }));
await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
const { port } = listener.address() as AddressInfo; // it listens on a port

const authorized = { authorization: `Bearer ${TOKEN}` };
const made = (path: string, body: unknown) =>
  api(
    new Request(`http://api${path}`, {
      method: 'POST',
      headers: { ...authorized, 'content-type': json },
      body: JSON.stringify(body),
    }),
  ).then(answer => answer.arrayBuffer());
await made(`${ACCOUNT}/queues`, { queue_name: 'q' });
await made(`${ACCOUNT}/sql/databases`, { name: 'd' });
await made(`${ACCOUNT}/kv/namespaces`, { name: 'n' });

for (const [name, method, path, type, body] of management) {
  const bytes = Buffer.from(body);
  const request = () =>
    new Request(`http://api${path}`, { method, headers: { ...authorized, 'content-type': type }, body: bytes });
  await measure(`management: ${name}`, bytes.length, () => api(request()));
}
const keys = { accessKeyId: 'bench', secretAccessKey: 's'.repeat(40) };
const client = new AwsClient({ ...keys, service: 's3', region: 'auto' });
host.bucket('b');
const endpoint = host.s3({ credentials: [{ ...keys, buckets: '*' }] });
for (const [name, method, path, type, body] of s3) {
  const bytes = Buffer.from(body);
  const request = await client.sign(`http://127.0.0.1${path}`, {
    method,
    body: bytes,
    headers: { 'content-type': type },
  });
  await measure(`S3: ${name}`, bytes.length, () => endpoint(request));
}
const bytes = Buffer.alloc(size, 'x');
await measure('fn.fetch(), a body', size, () => fn.fetch('http://x/', { method: 'POST', body: bytes }));
await measure('a listener, a body', size, () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: bytes }));
await measure('a callback, objects by index', 240_000, () => calls.fetch('http://x/'));
stalls.stop();
listener.close();
listener.closeAllConnections();
await host.close({ drainMs: 0 });
