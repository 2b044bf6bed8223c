/** The storage of objects under calls that no client makes, and what it counts. */
import test, { type ExecutionContext } from 'ava';
import type { Service } from '../../../src/bindings/service.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { idOf, type OpenObjects, openObjects } from './open-objects.js';

type Body = Uint8Array | null;

async function opened(t: ExecutionContext): Promise<OpenObjects> {
  const objects = await openObjects();
  t.teardown(() => objects.storage.close());
  return objects;
}

function calling(service: Service) {
  return (method: string, args: unknown, body: Body = null) =>
    service({ method, args, body, signal: new AbortController().signal, work: OWN_WORK });
}

const ROOM = { c: 'Room', i: idOf(1), s: 0 };

function entry(key: string | Uint8Array, value: string | null): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(6);
  head.writeUInt16LE(name.length, 0);
  head.writeUInt32LE(value === null ? 0xffff_ffff : value.length, 2);
  return Buffer.concat([head, name, Buffer.from(value ?? '')]);
}

async function open(service: Service, address = ROOM): Promise<typeof ROOM> {
  const { head } = await calling(service)('open', address);
  return { ...address, s: (head as { s: number }).s };
}

for (const [what, args] of [
  ['no object', null],
  ['an id that is none', { ...ROOM, i: '../../other' }],
  ['a class name with a line break', { ...ROOM, c: 'Room\nx' }],
  ['a class that the function has not', { ...ROOM, c: 'Nothing' }],
  ['a class name that is no text', { ...ROOM, c: ['Room'] }],
  ['a user that is no number', { ...ROOM, s: '1' }],
] as const) {
  test(`a call with ${what} is refused`, async t => {
    const { service } = await opened(t);
    for (const method of ['open', 'get', 'list', 'write', 'getAlarm']) {
      await t.throwsAsync(calling(service)(method, args), { instanceOf: TypeError });
    }
  });
}

for (const [what, body, more] of [
  ['a body that breaks off', entry('key', 'value').subarray(0, 8), {}],
  ['another length than it says', entry('key', 'value'), { n: 3 }],
  ['a key that is no UTF-8', entry(Buffer.from([0xff, 0xfe]), 'value'), {}],
  ['a key that is too long', entry('k'.repeat(2049), 'value'), {}],
  ['a value that is too long', entry('key', 'x'.repeat(140_000)), {}],
  ['too many keys', Buffer.concat(Array.from({ length: 4097 }, (_, i) => entry(`${i}`, null))), {}],
  ['an alarm at no time', null, { a: Number.NaN }],
  ['an alarm in a text', null, { a: '5' }],
  ['an alarm that no Date can have', null, { a: 8.64e15 + 1 }],
] as const) {
  test(`a write with ${what} is refused, and the object stores nothing more for who made it`, async t => {
    const { service, storage } = await opened(t);
    const room = await open(service);
    const write = { ...room, q: 0, n: body?.length ?? 0, ...more };
    await t.throwsAsync(calling(service)('write', write, body), { instanceOf: TypeError });
    t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
  });
}

test('writes that come out of order are written in their order', async t => {
  const { service, store } = await opened(t);
  const room = await open(service);
  const write = (q: number, value: string) => {
    const body = entry('key', value);
    return calling(service)('write', { ...room, q, n: body.length }, body);
  };
  const late = [write(2, 'third'), write(1, 'second')];
  await write(0, 'first');
  await Promise.all(late);
  const ref = { account: 'acme', functionName: 'chat', className: 'Room', id: idOf(1) };
  const [value] = await store.get({ ref, user: room.s }, ['key'], OWN_WORK);
  t.is(value?.toString(), 'third');
  await t.throwsAsync(write(1, 'again'), { instanceOf: TypeError });
});

test('an object belongs to the last that has opened it: calls of those before are refused', async t => {
  const { service } = await opened(t);
  const before = await open(service);
  const after = await open(service);
  const body = entry('key', 'value');
  const late = calling(service)('write', { ...before, q: 0, n: body.length }, body);
  await t.throwsAsync(late, { code: 'EDGE_OBJECT_RESET' });
  await t.throwsAsync(calling(service)('getAlarm', before), { code: 'EDGE_OBJECT_RESET' });
  t.is((await calling(service)('getAlarm', after)).head, null);
});

test('objects of other accounts, functions and classes are other objects, and the account pays for all of its own', async t => {
  const { serviceOf, storage } = await opened(t);
  const places = [serviceOf('acme'), serviceOf('acme', 'other'), serviceOf('globex')];
  const body = entry('key', 'value');
  for (const service of places) {
    for (const c of ['Room', 'Other']) {
      const room = await open(service, { ...ROOM, c });
      const found = await calling(service)('get', room, Buffer.from('\u0003\0key'));
      t.deepEqual(found.head, { n: [-1] });
      await calling(service)('write', { ...room, q: 0, n: body.length }, body);
    }
  }
  const one = 'key'.length + 'value'.length + 256;
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 4 * one, objects: 8 });
  t.deepEqual(await storage.context.sums.read('globex'), { bytes: 2 * one, objects: 4 });
});

test('an account that was removed has no objects left, and one of the same id begins anew', async t => {
  const { service, serviceOf, storage, store } = await opened(t);
  const room = await open(service);
  const body = entry('key', 'value');
  await calling(service)('write', { ...room, q: 0, n: body.length, a: 5 }, body);
  const error = new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone');
  const { deleted } = await storage.removeAccount('acme', { error, deleteData: true, beside: async () => {} });
  await t.throwsAsync(calling(service)('write', { ...room, q: 1, n: body.length }, body), {
    code: 'EDGE_ACCOUNT_REMOVED',
  });
  store.forget('acme');
  await deleted;
  const again = await open(serviceOf('acme'));
  t.deepEqual((await calling(serviceOf('acme'))('get', again, Buffer.from('\u0003\0key'))).head, { n: [-1] });
  const left: string[] = [];
  for await (const page of storage.context.records.pages({ gte: 'z', lt: '{' })) left.push(...page.map(([key]) => key));
  t.deepEqual(left, []);
});

for (const [method, args] of [
  ['sql', { p: [], z: 0 }],
  ['get', {}],
] as const) {
  test(`a body of ${method}() that takes long counts to the account while it comes`, async t => {
    const { service } = await opened(t);
    const room = await open(service);
    let held = 0;
    const work: CallWork = {
      ...OWN_WORK,
      countBytes: bytes => {
        held += bytes;
      },
    };
    const seen: number[] = [];
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let chunk = 0; chunk < 3; chunk++) {
        yield new Uint8Array(1000);
        seen.push(held);
      }
      throw new Error('the caller is gone');
    }
    const { signal } = new AbortController();
    await t.throwsAsync(service({ method, args: { ...room, ...args }, body: body(), signal, work }));
    t.deepEqual(seen, [1000, 2000, 3000]);
    t.is(held, 0);
  });
}
