/**
 * How long one body stops the application's main thread, for each interface that takes bodies: the longest processor time of that thread between
 * two rounds of its event loop, also for each MB of the body. Other load on the machine hardly matters. Run by `node --expose-gc
 * dist/benchmarks/longest-stalls.js [MB] [part of a name]` on Linux.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AwsClient } from 'aws4fetch';
import { EdgeHost } from '../src/index.js';

const MEGABYTE = 1_000_000;
const megabytes = Number(process.argv[2] ?? 4);
const size = megabytes * MEGABYTE;
const only = process.argv[3] ?? '';
const TOKEN = 't'.repeat(40);
const ACCOUNT = '/accounts/acme';

/** Processor time of the main thread, milliseconds. The time of the process would include its worker threads, such as those of LevelDB and of the garbage collector. */
function mainThreadMs(): number {
  const [nanoseconds = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
  return Number(nanoseconds) / 1e6;
}

/** Watches the event loop: processor time of the main thread between two of its rounds. */
class Stalls {
  longestMs = 0;
  #last = mainThreadMs();
  #next = setImmediate(() => this.#look());

  stop(): void {
    clearImmediate(this.#next);
  }

  reset(): void {
    this.longestMs = 0;
    this.#last = mainThreadMs();
  }

  #look(): void {
    const now = mainThreadMs();
    this.longestMs = Math.max(this.longestMs, now - this.#last);
    this.#last = now;
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

/** Objects that S3 deletes in one request, with the longest keys; parts of an upload, none of which is there. */
const s3 = (uploadId: string): readonly Case[] => [
  [
    'DeleteObjects',
    'POST',
    '/bench?delete',
    'application/xml',
    `<Delete>${Array.from({ length: 1000 }, (_, i) => `<Object><Key>${`${i}`.padEnd(950, 'k')}</Key></Object>`).join('')}</Delete>`,
  ],
  [
    'DeleteObjects, too many',
    'POST',
    '/bench?delete',
    'application/xml',
    `<Delete>${many(i => `<Object><Key>k${i}</Key></Object>`, oneMegabyte - 1000).replaceAll(',', '')}</Delete>`,
  ],
  [
    'CompleteMultipartUpload',
    'POST',
    `/bench/k?uploadId=${encodeURIComponent(uploadId)}`,
    'application/xml',
    `<CompleteMultipartUpload>${Array.from({ length: 10_000 }, (_, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${'e'.repeat(32)}"</ETag></Part>`).join('')}</CompleteMultipartUpload>`,
  ],
  ['PutObject', 'PUT', '/bench/k', 'application/octet-stream', 'v'.repeat(size)],
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

/** Measures it twice, because the first time includes what is compiled once. */
async function measure(what: string, bytes: number, run: () => Promise<Response>): Promise<void> {
  if (!what.includes(only)) return;
  const first = await longest(run);
  const { ms, status } = await longest(run);
  console.log(
    `${what.padEnd(44)} ${(bytes / MEGABYTE).toFixed(1).padStart(6)} MB  ${status.padEnd(6)} longest ${first.ms.toFixed(1).padStart(8)} ms, then ${ms.toFixed(1).padStart(8)} ms  ${(ms / (bytes / MEGABYTE)).toFixed(1).padStart(8)} ms/MB`,
  );
}

async function longest(run: () => Promise<Response>): Promise<{ readonly ms: number; readonly status: string }> {
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
  return { ms: stalls.longestMs, status };
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
const longQuery = `http://api/zones?${many(i => `a${i}=1`, oneMegabyte - 1000).replaceAll(',', '&')}`;
await measure('management: query of names', longQuery.length, () =>
  api(new Request(longQuery, { headers: authorized })),
);
const keys = { accessKeyId: 'bench', secretAccessKey: 's'.repeat(40) };
const client = new AwsClient({ ...keys, service: 's3', region: 'auto' });
const endpoint = host.s3({ credentials: [{ ...keys, buckets: '*' }] });
await host.bucket('bench').put('k', 'v');
const started = await endpoint(await client.sign('http://127.0.0.1/bench/k?uploads', { method: 'POST' }));
const [, uploadId = ''] = /<UploadId>([^<]+)</.exec(await started.text()) ?? [];
for (const [name, method, path, type, body] of s3(uploadId)) {
  const bytes = Buffer.from(body);
  const url = `http://127.0.0.1${path}`;
  const init = { method, body: bytes, headers: { 'content-type': type } };
  const { headers } = await client.sign(url, init);
  await measure(`S3: ${name}`, bytes.length, () => endpoint(new Request(url, { ...init, headers })));
}
const database = acme.sql('d');
await database.exec('CREATE TABLE IF NOT EXISTS t (x)');
await database.prepare('INSERT INTO t VALUES (?)').bind('x'.repeat(oneMegabyte)).run();
await measure('SQL, export()', oneMegabyte, async () => new Response(await database.export()));
const bytes = Buffer.alloc(size, 'x');
await measure('fn.fetch(), a body', size, () => fn.fetch('http://x/', { method: 'POST', body: bytes }));
await measure('a listener, a body', size, () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: bytes }));
await measure('a callback, objects by index', 240_000, () => calls.fetch('http://x/'));
stalls.stop();
listener.close();
listener.closeAllConnections();
await host.close({ drainMs: 0 });
