import test from 'ava';
import { ISOLATIONS, newHost } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

const IMPORTS = `import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';`;

test('AsyncLocalStorage keeps its value through await, thenables, timers, microtasks and generators', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const als = new AsyncLocalStorage();
    const other = new AsyncLocalStorage();
    const seen = async () => {
      await undefined; print(als.getStore());
      await { then(resolve) { print(als.getStore()); resolve(); } }; print(als.getStore());
      try { await Promise.reject(new Error('x')); } catch { print(als.getStore()); }
      print(await new Promise(resolve => setTimeout(() => resolve(als.getStore()), 1)));
      print(await new Promise(resolve => queueMicrotask(() => resolve(als.getStore()))));
      for await (const value of (async function* () { yield 1; await 0; yield als.getStore(); })()) print(value, als.getStore());
      await Promise.resolve().then(() => print(als.getStore(), other.getStore())).finally(() => print(als.getStore()));
    };
    await Promise.all([als.run('a', seen), other.run('x', () => als.run('b', seen))]);
    print(als.getStore());`,
  );
});

test('AsyncLocalStorage has run(), exit(), enterWith(), disable(), bind() and snapshot() as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const als = new AsyncLocalStorage();
    print(als.run(1, (...args) => [als.getStore(), ...args], 2, 3));
    als.run(1, () => { print(als.exit(() => als.getStore())); print(als.run(2, () => als.getStore()), als.getStore()); });
    const bound = als.run('bound', () => AsyncLocalStorage.bind(function (a, b) { return [als.getStore(), a, b, this?.x]; }));
    print(bound.length, bound.call({ x: 1 }, 2, 3));
    const snapshot = als.run('snapshot', () => AsyncLocalStorage.snapshot());
    als.run('now', () => { print(snapshot((a, b) => [als.getStore(), a, b], 1, 2), als.getStore()); });
    const resource = als.run('resource', () => new AsyncResource('TEST'));
    print(resource.runInAsyncScope(function (a) { return [als.getStore(), this.y, a]; }, { y: 2 }, 3), als.getStore());
    print(resource.bind(() => als.getStore())(), resource.emitDestroy() === resource);
    try { als.run('thrown', () => { throw new Error('x'); }); } catch { print(als.getStore()); }
    await (async () => { als.enterWith('entered'); await undefined; print(als.getStore()); })();
    als.run('before', () => { als.disable(); print(als.getStore()); });
    print(als.run('after', () => als.getStore()));
    attempt(() => new AsyncResource(5));`,
  );
});

test('concurrent invocations never see the context of each other', async t => {
  for (const isolation of ISOLATIONS) {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      `${IMPORTS} const als = new AsyncLocalStorage();
      export default { async fetch(request) {
        const before = als.getStore();
        const id = new URL(request.url).pathname;
        als.enterWith(id);
        const seen = [before ?? 'none'];
        for (let i = 0; i < 5; i++) { await new Promise(resolve => setTimeout(resolve, 1)); seen.push(als.getStore()); }
        return new Response([...new Set(seen)].join());
      } };`,
      { name: 'contexts' },
    );
    const ids = Array.from({ length: 20 }, (_, i) => `/${i}`);
    const answers = await Promise.all(ids.map(async id => (await fn.fetch(`http://function.example${id}`)).text()));
    t.deepEqual(
      answers,
      ids.map(id => `none,${id}`),
      isolation,
    );
  }
});

test('the event unhandledrejection has the context of the promise', async t => {
  for (const isolation of ISOLATIONS) {
    const lines = await inFunction(
      t,
      IMPORTS,
      `const als = new AsyncLocalStorage();
      const done = new Promise(resolve => addEventListener('unhandledrejection', event => { event.preventDefault(); resolve(als.getStore()); }));
      als.run('rejected', () => { void Promise.reject(new Error('x')); });
      print(await done);`,
      { isolation },
    );
    t.deepEqual(lines, ['"rejected"'], isolation);
  }
});

test('promises of a function show nothing of their context (R14)', async t => {
  for (const isolation of ISOLATIONS) {
    const lines = await inFunction(
      t,
      IMPORTS,
      `const als = new AsyncLocalStorage();
      const promise = als.run({ secret: 1 }, () => Promise.resolve());
      await promise;
      print(Reflect.ownKeys(promise).length, Object.getPrototypeOf(promise) === Promise.prototype);
      const traps = [];
      for (const key of Reflect.ownKeys(Promise.prototype)) traps.push(typeof key);
      let depth = 0;
      const exhaust = () => { depth++; als.run(depth, () => { void Promise.resolve(); exhaust(); }); };
      try { exhaust(); } catch (error) { print(error instanceof RangeError, error.constructor.constructor === Function); }
      print(als.getStore());`,
      { isolation },
    );
    t.deepEqual(lines, ['0 true', 'true true', 'undefined'], isolation);
  }
});
