/** The owner of the host hears of everything that is damaged by an event, whatever reads it: a call of a function has its error, background work has nobody. */
import { randomInt } from 'node:crypto';
import test from 'ava';
import { EdgeHost, type EdgeHostOptions } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { filesBelow, flip } from './damage.js';

/** Stored in the middle of each value, and found again in the files of the storage. */
type Marker = string;

/** No characters come twice: what repeats 4 bytes of the block before is compressed, and is not found. */
function newMarker(): Marker {
  const left = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'];
  let marker = '';
  while (left.length > 0) marker += left.splice(randomInt(left.length), 1).join('');
  return marker;
}

interface Kind {
  readonly what: string;
  write(host: EdgeHost, marker: Marker): Promise<unknown>;
  /** What reads it again, as applications and functions do. The result is not looked at. */
  read(host: EdgeHost): Promise<unknown>;
  readonly options?: Parameters<EdgeHost['load']>[1];
  /** Names the key, and the file or the database. */
  readonly message: RegExp;
}

const FUNCTION = `
  import { StatefulObject } from 'edgehost:workers';
  export class Counter extends StatefulObject {
    async put(value) { await this.ctx.storage.put('the-key', value); }
    get() { return this.ctx.storage.get('the-key'); }
  }
  export default {
    async fetch(request, env) {
      const marker = new URL(request.url).searchParams.get('marker');
      switch (new URL(request.url).pathname) {
        case '/cache-put': {
          const headers = { 'Cache-Control': 'max-age=1000' };
          await caches.default.put('http://cached.example/the-key', new Response(marker, { headers }));
          return new Response('kept');
        }
        case '/cache-match': return new Response((await caches.default.match('http://cached.example/the-key'))?.body ?? null);
        case '/kv': return new Response(await env.KV.get('the-key'));
        case '/object-put': await env.COUNTER.getByName('one').put(marker); return new Response('stored');
        case '/object-get': return new Response(await env.COUNTER.getByName('one').get());
        default: return new Response('nothing');
      }
    },
    queue() {},
  };`;

const large = (marker: Marker): string => `${'a'.repeat(50_000)}${marker}${'b'.repeat(50_000)}`;

async function call(host: EdgeHost, path: string): Promise<void> {
  await (await host.account('acme').function('f')?.fetch(`http://x${path}`))?.text();
}

async function managed(host: EdgeHost): Promise<unknown> {
  const api = host.management();
  const { value } = await api.issueToken({ name: 'reader', account: 'acme', permissions: ['tokens:read'] });
  const headers = { Authorization: `Bearer ${value}` };
  return (await api(new Request('http://api/accounts/acme/tokens', { headers }))).text();
}

let uploadId = '';

const KINDS: readonly Kind[] = [
  {
    what: 'a key-value entry that a function reads',
    write: (host, marker) => host.account('acme').kv('kv').put('the-key', marker),
    read: host => call(host, '/kv'),
    options: { kv: { KV: 'kv' } },
    message: /the-key.*database "level"/,
  },
  {
    what: 'a large key-value entry',
    write: (host, marker) => host.account('acme').kv('kv').put('the-key', large(marker)),
    read: host => host.account('acme').kv('kv').get('the-key'),
    message: /the-key.*file "bodies\//,
  },
  {
    what: 'an object of a bucket',
    write: (host, marker) => host.account('acme').bucket('files').put('the-key', marker),
    read: async host => (await host.account('acme').bucket('files').get('the-key'))?.text(),
    message: /the-key.*database "level"/,
  },
  {
    what: 'the body of an object of a bucket',
    write: (host, marker) => host.account('acme').bucket('files').put('the-key', large(marker)),
    read: async host => (await host.account('acme').bucket('files').get('the-key'))?.text(),
    message: /the-key.*file "bodies\//,
  },
  {
    what: 'an upload of parts',
    write: async (host, marker) => {
      const customMetadata = { marker };
      const upload = await host.account('acme').bucket('files').createMultipartUpload('the-key', { customMetadata });
      uploadId = upload.uploadId;
    },
    read: host =>
      host.account('acme').bucket('files').resumeMultipartUpload('the-key', uploadId).uploadPart(1, 'a part'),
    message: /"[^"]*" of the database "level"/,
  },
  {
    what: 'a part of an upload',
    write: async (host, marker) => {
      const upload = await host.account('acme').bucket('files').createMultipartUpload('the-key');
      await upload.uploadPart(1, `${marker}${'a'.repeat(5 * 2 ** 20)}`);
      await upload.complete([await upload.uploadPart(1, large(marker))]);
    },
    read: async host => (await host.account('acme').bucket('files').get('the-key'))?.text(),
    message: /the-key.*file "bodies\//,
  },
  {
    what: 'a message of a queue, before its consumer gets it',
    write: async (host, marker) => {
      await host.account('acme').queue('jobs').send(marker);
      await host.account('acme').queue('jobs').send('the next one');
    },
    read: async () => {},
    options: { consumers: [{ queue: 'jobs' }] },
    message: /"[^"]*" of the database "level"/,
  },
  {
    what: 'a message of a queue that the application pulls',
    write: (host, marker) => host.account('acme').queue('jobs').send(marker),
    read: host => host.account('acme').queue('jobs').pull(),
    message: /"[^"]*" of the database "level"/,
  },
  {
    what: 'an entry of a cache',
    write: (host, marker) => call(host, `/cache-put?marker=${marker}`),
    read: host => call(host, '/cache-match'),
    message: /"[^"]*" of the database "level"/,
  },
  {
    what: 'a value of a stateful object',
    write: (host, marker) => call(host, `/object-put?marker=${marker}`),
    read: host => call(host, '/object-get'),
    options: { objects: { COUNTER: 'Counter' } },
    message: /"[^"]*" of the database "level"/,
  },
  {
    what: 'a record of the management API',
    write: (host, marker) => host.management().issueToken({ name: marker, account: 'acme', permissions: ['kv:read'] }),
    read: managed,
    message: /tokens.*database "management"/,
  },
];

for (const backend of ['inline', 'process'] as const) {
  for (const { what, write, read, options = {}, message } of KINDS) {
    test(`the application is warned of a damaged record: ${what} (backend ${backend})`, async t => {
      t.timeout(120_000);
      const storage = await temporaryDirectory(t);
      const marker = newMarker();
      const settings: EdgeHostOptions = { storage, backend, warmCells: 0, spareIsolates: 0 };
      const { consumers: _, ...producing } = options;
      const first = new EdgeHost(settings);
      await first.account('acme').load(FUNCTION, { name: 'f', ...producing });
      await write(first, marker);
      await first.close();
      // What was in the log is in a table now.
      const again = new EdgeHost(settings);
      await again.account('acme').kv('other').get('nothing');
      await managed(again);
      await again.close();
      let flipped = 0;
      for (const file of await filesBelow(storage, /\.ldb$|^\d+$/))
        if (await flip(file, Buffer.from(marker.slice(20, 40)))) flipped++;
      t.true(flipped > 0);

      const host = new EdgeHost(settings);
      t.teardown(() => host.close({ drainMs: 0 }));
      const warned = new Promise<Error>(resolve =>
        host.on('warning', error => {
          if (errorCode(error) === 'EDGE_STORAGE_CORRUPT') resolve(error);
        }),
      );
      await host.account('acme').load(FUNCTION, { name: 'f', ...options });
      await read(host).catch(() => {});
      const timeout = new Promise<void>(resolve => setTimeout(resolve, 20_000).unref());
      const warning = (await Promise.race([warned, timeout])) ?? undefined;
      t.regex(warning?.message ?? 'there was no warning', message);
    });
  }
}
