import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RemoteLink } from '../../../src/backend/client/remote-link.js';
import { RemoteServices } from '../../../src/backend/client/remote-service.js';
import type { ServedObjects } from '../../../src/backend/server/applications/served-objects.js';
import { bucketBinding } from '../../../src/bindings/bucket/bucket-binding.js';
import { hostBucket } from '../../../src/bindings/bucket/host-bucket.js';
import type { Service } from '../../../src/bindings/service.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import type { CallWork } from '../../../src/quotas/host/call-work.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { bucketsOf, openBuckets } from '../../bindings/bucket/open-buckets.js';
import { sampleBytes, temporaryDirectory } from '../../bindings/bucket/stores.js';
import { countedWork } from '../../bindings/counted-work.js';
import { remoteBuckets, type SocketBackend, socketBackend } from './pair.js';
import { servedObjects } from './served.js';

interface Socketed {
  readonly backend: SocketBackend;
  readonly link: RemoteLink;
  readonly objects: ServedObjects;
}

async function open(t: ExecutionContext, change: (objects: ServedObjects) => ServedObjects = same): Promise<Socketed> {
  const folder = await temporaryDirectory(t);
  const storage = await openBuckets(join(folder, 'storage'));
  const objects = change(servedObjects(storage, account => bucketsOf(storage, account)));
  const backend = await socketBackend(join(folder, 's.sock'), objects);
  t.teardown(async () => {
    await backend.close();
    await storage.close();
  });
  return { backend, objects, link: new RemoteLink(() => backend.connection()) };
}

function same(objects: ServedObjects): ServedObjects {
  return objects;
}

function clientOf(link: RemoteLink, limits = () => resolveLimits()) {
  const service = new RemoteServices(link).of({
    address: { binding: bucketBinding.id, account: 'acme', config: 'files' },
    limits,
    isSafe: method => bucketBinding.methods[method]?.isSafe === true,
  });
  return hostBucket(service);
}

test('a large object goes there and back over a socket', async t => {
  const { link } = await open(t);
  const bytes = sampleBytes(5_000_000);
  const bucket = clientOf(link);
  await bucket.put('large', bytes);
  const object = await bucket.get('large');
  t.true(Buffer.from((await object?.arrayBuffer()) ?? new ArrayBuffer(0)).equals(bytes));
});

test('the chunks of an object belong to their reader, who may transfer them', async t => {
  const { link } = await open(t);
  const bytes = sampleBytes(1_000_000);
  const bucket = await remoteBuckets(link, 'acme').open('files');
  await bucket.put('large', bytes, {});
  const received = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const outcome = await bucket.get('large', {});
      const body = outcome.kind === 'found' ? outcome.content.open() : [];
      const parts: Uint8Array[] = [];
      for await (const { buffer, byteOffset, byteLength } of body instanceof Uint8Array ? [body] : body) {
        if (!(buffer instanceof ArrayBuffer)) throw new TypeError('The memory of a chunk is shared');
        parts.push(new Uint8Array(structuredClone(buffer, { transfer: [buffer] }), byteOffset, byteLength));
      }
      return Buffer.concat(parts);
    }),
  );
  for (const each of received) t.true(each.equals(bytes));
});

test('a call under way when the connection is lost rejects with EDGE_SERVICES_LOST, and reads are made again', async t => {
  let hold: (() => void) | undefined;
  let isHeld = true;
  const held = new Promise<void>(resolve => {
    hold = resolve;
  });
  let calls = 0;
  let onCall = (): void => {};
  const { link, backend, objects } = await open(t, real => ({
    ...real,
    service: address => {
      const service: Service = real.service(address);
      return async call => {
        calls++;
        onCall();
        if (isHeld) await held;
        return service(call);
      };
    },
  }));
  t.truthy(objects);
  const bucket = clientOf(link);
  const arrived = (): Promise<void> =>
    new Promise(resolve => {
      onCall = resolve;
    });
  let here = arrived();
  const put = bucket.put('k', 'v');
  await here;
  backend.cut();
  await t.throwsAsync(put, { code: 'EDGE_SERVICES_LOST', instanceOf: EdgeError });
  here = arrived();
  const head = bucket.head('k');
  await here;
  isHeld = false;
  backend.cut();
  t.is(await head, null);
  t.is(calls, 3);
  t.is(backend.connections, 3);
  hold?.();
});

test('a read that is lost twice rejects', async t => {
  const { link, backend } = await open(t, real => ({
    ...real,
    service: () => async () => {
      backend.cut();
      return new Promise(() => {});
    },
  }));
  await t.throwsAsync(clientOf(link).head('k'), { code: 'EDGE_SERVICES_LOST' });
  t.is(backend.connections, 2);
});

test('a body that is on its way when the connection is lost fails, in both directions', async t => {
  const { link, backend } = await open(t);
  const bucket = await remoteBuckets(link, 'acme').open('files');
  await bucket.put('large', sampleBytes(3_000_000), {});
  const outcome = await bucket.get('large', {});
  if (outcome.kind !== 'found') throw new Error(outcome.kind);
  const body = outcome.content.open();
  t.false(body instanceof Uint8Array);
  let received = 0;
  await t.throwsAsync(
    async () => {
      for await (const chunk of body instanceof Uint8Array ? [body] : body) {
        received += chunk.length;
        backend.cut();
      }
    },
    { code: 'EDGE_SERVICES_LOST' },
  );
  t.true(received > 0 && received < 3_000_000);
  let isEnded = false;
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; ; at++) {
        yield sampleBytes(100_000);
        if (at === 20) backend.cut();
      }
    } finally {
      isEnded = true;
    }
  };
  await t.throwsAsync(bucket.put('endless', endless(), {}), { code: 'EDGE_SERVICES_LOST' });
  t.true(isEnded);
  t.is(await bucket.head('endless'), null);
});

test('a source of a body that fails fails the call with its own error, and nothing is stored', async t => {
  const { link } = await open(t);
  const bucket = await remoteBuckets(link, 'acme').open('files');
  class OwnError extends Error {}
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield sampleBytes(200_000);
    throw new OwnError('mine');
  };
  await t.throwsAsync(bucket.put('k', failing(), {}), { instanceOf: OwnError });
  t.is(await bucket.head('k'), null);
});

test('a stream that is read slowly holds back its sender', async t => {
  const { link } = await open(t);
  const bucket = await remoteBuckets(link, 'acme').open('files');
  await bucket.put('large', sampleBytes(30_000_000), {});
  const outcome = await bucket.get('large', {});
  if (outcome.kind !== 'found') throw new Error(outcome.kind);
  // Other calls go on beside it.
  for (let at = 0; at < 50; at++) await bucket.head('large');
  const channel = await link.channel();
  t.true(channel.unwrittenBytes === 0);
  outcome.content.open();
  outcome.content.release();
  t.is((await bucket.head('large'))?.size, 30_000_000);
});

test('a service that cannot be made rejects each call with the reason', async t => {
  const { link } = await open(t);
  const service = new RemoteServices(link).of({
    address: { binding: bucketBinding.id, account: 'acme', config: { not: 'a name' } },
    limits: () => resolveLimits(),
    isSafe: () => false,
  });
  const bucket = hostBucket(service);
  await t.throwsAsync(bucket.head('k'), { instanceOf: TypeError, message: 'No such service' });
  await t.throwsAsync(bucket.head('k'), { instanceOf: TypeError });
});

test('the limits of the account are those of the call', async t => {
  const { link } = await open(t);
  let limits = resolveLimits();
  const bucket = clientOf(link, () => limits);
  await bucket.put('k', 'v');
  limits = resolveLimits({ overrides: [{ storageBytes: 1 }] });
  const error = await t.throwsAsync(bucket.put('other', 'value'), { code: 'EDGE_STORAGE_QUOTA' });
  t.like(error, { limit: { name: 'storageBytes', allowed: 1 } });
});

test('arguments that no frame can hold are refused, and the connection stays', async t => {
  const { link, backend } = await open(t);
  const bucket = clientOf(link);
  await bucket.put('k', 'v');
  const keys = Array.from({ length: 3000 }, () => 'k'.repeat(1000));
  await t.throwsAsync(bucket.delete(keys), { instanceOf: RangeError, message: /at most 2097152/ });
  await t.throwsAsync(bucket.delete(keys.slice(0, 1001)), { code: 10027 });
  t.is((await bucket.head('k'))?.size, 1);
  t.is(backend.connections, 1);
});

test('a bucket that was deleted stays deleted for those who have it, though there is another of its name', async t => {
  const { link, backend } = await open(t);
  const directory = remoteBuckets(link, 'acme');
  const first = await directory.open('files');
  await directory.delete('files');
  const second = await directory.open('files');
  t.not(first.id, second.id);
  await t.throwsAsync(first.put('k', sampleBytes(3), {}), { code: 10006 });
  backend.cut();
  await t.throwsAsync(first.put('k', sampleBytes(3), {}), { code: 'EDGE_SERVICES_LOST' });
  await t.throwsAsync(first.put('k', sampleBytes(3), {}), { code: 10006 });
  await t.throwsAsync(directory.delete('none-here'), { code: 10006 });
});

test('both ends count what they do for a customer of the application', async t => {
  const there = countedWork();
  const { link } = await open(t, real => ({ ...real, workOf: (): CallWork => there }));
  const here = countedWork();
  const bucket = await remoteBuckets(link, 'acme').open('files');
  const stream = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 10; at++) yield sampleBytes(100_000);
  };
  await bucket.put('k', stream(), {}, here);
  t.true(here.spentMs > 0);
  t.true(there.spentMs > 1);
});

test('a call that is not in the table is refused', async t => {
  const { link } = await open(t);
  const call: unknown = Reflect.get(link, 'call');
  if (typeof call !== 'function') throw new TypeError('call');
  for (const name of ['constructor', '__proto__', 'no.such', 'toString']) {
    await t.throwsAsync(async () => Reflect.apply(call, link, [name]), {
      instanceOf: TypeError,
      message: `There is no call "${name}"`,
    });
  }
});
