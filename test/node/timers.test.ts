import test from 'ava';
import { ISOLATIONS, newHost } from '../host/new-host.js';
import { sameAsNode } from './same-as-node.js';

test('node:timers have objects that can be stopped, refreshed and turned into numbers, as in Node', async t => {
  await sameAsNode(
    t,
    `import timers, { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers';
    import { AsyncLocalStorage } from 'node:async_hooks';`,
    `const done = [];
    const timeout = setTimeout((a, b) => done.push(a + b), 1, 1, 2);
    print(timeout.constructor.name, timeout.hasRef(), timeout.unref() === timeout, timeout.hasRef(), timeout.ref().hasRef());
    print(typeof +timeout, timeout.refresh() === timeout, typeof timeout.close);
    for (const stop of [clearTimeout, clearInterval, globalThis.clearTimeout]) stop(setTimeout(() => done.push('stopped'), 1));
    clearTimeout(+setTimeout(() => done.push('by its number'), 1));
    clearTimeout(String(+setTimeout(() => done.push('by its text'), 1)));
    setTimeout(() => done.push('closed'), 1).close();
    for (const nothing of [undefined, null, {}, 'x', NaN]) clearTimeout(nothing);
    clearImmediate(); clearImmediate(null);
    let count = 0;
    await new Promise(resolve => setInterval(function () { if (++count === 3) { clearInterval(this); resolve(); } }, 1));
    print(count, done);
    const order = [];
    const first = setImmediate((...args) => order.push(args), 1, 2);
    print(first.constructor.name, first.hasRef(), first.unref().hasRef());
    clearImmediate(setImmediate(() => order.push('stopped')));
    await new Promise(resolve => setImmediate(resolve)); print(order);
    const storage = new AsyncLocalStorage();
    await storage.run('kept', () => new Promise(resolve => {
      const again = setTimeout(() => { print(storage.getStore()); resolve(); }, 1);
      storage.run('other', () => again.refresh());
    }));
    await storage.run('at once', () => new Promise(resolve => setImmediate(() => { print(storage.getStore()); resolve(); })));
    for (const set of [setTimeout, setInterval, setImmediate]) attempt(() => set('code'));
    const promisify = Symbol.for('nodejs.util.promisify.custom');
    print(await setTimeout[promisify](1, 'late'), await setImmediate[promisify]('soon'), Object.keys(timers.promises));`,
  );
});

test('node:timers/promises wait, repeat and are aborted as in Node', async t => {
  await sameAsNode(
    t,
    `import { scheduler, setImmediate, setInterval, setTimeout } from 'timers/promises';`,
    `print(await setTimeout(1, 'value'), await setTimeout(), await setImmediate('now'), await scheduler.wait(1), await scheduler.yield());
    let count = 0;
    for await (const value of setInterval(1, 'tick')) { print(value); if (++count === 3) break; }
    const failed = async work => { try { await work(); print('no error'); } catch (error) { print(error, error.cause); } };
    const aborted = AbortSignal.abort('reason');
    await failed(() => setTimeout(1, 0, { signal: aborted }));
    await failed(() => setImmediate(0, { signal: aborted }));
    await failed(() => setInterval(1, 0, { signal: aborted }).next());
    const controller = new AbortController();
    const waits = [setTimeout(60000, 0, controller), setInterval(60000, 0, controller).next(), scheduler.wait(60000, controller)];
    const all = Promise.all(waits.map(wait => failed(() => wait)));
    controller.abort(); await all;
    for (const options of [5, null, { signal: 5 }, { ref: 5 }]) await failed(() => setTimeout(1, 0, options));`,
  );
});

test('global timers are objects by the compatibility date and the flags', async t => {
  for (const isolation of ISOLATIONS) {
    const host = newHost(t, { isolation });
    const answer = async (compatibilityDate: string, compatibilityFlags: string[], code: string): Promise<string> => {
      const source = `export default { async fetch() { ${code} } };`;
      const fn = await host.load(source, { compatibilityDate, compatibilityFlags });
      return (await fn.fetch('http://function.example/')).text();
    };
    const kinds = `const interval = setInterval(() => {}, 1); clearInterval(interval); const stopped = setTimeout(() => {}, 1);
      clearTimeout(+stopped); const { unref } = setTimeout(() => {}, 1);
      return new Response([typeof stopped, typeof interval, typeof unref, await new Promise(resolve => setTimeout(resolve, 1, 'ran'))].join());`;
    const objects = 'object,object,function,ran';
    const numbers = 'number,number,undefined,ran';
    t.is(await answer('2026-08-04', [], kinds), objects);
    t.is(await answer('2026-08-04', ['no_nodejs_global_timers'], kinds), numbers);
    t.is(await answer('2026-08-04', ['no_nodejs_compat'], kinds), numbers);
    t.is(await answer('2026-02-10', ['nodejs_compat'], kinds), objects);
    t.is(await answer('2026-02-09', ['nodejs_compat'], kinds), numbers);
    t.is(await answer('2026-02-09', ['nodejs_compat', 'enable_nodejs_global_timers'], kinds), objects);
    t.is(await answer('2026-08-04', [], 'return new Response(typeof setTimeout(() => {}, 1));'), 'number');
  }
});
