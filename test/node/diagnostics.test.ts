import test from 'ava';
import { ISOLATIONS } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

test('node:diagnostics_channel publishes, binds stores and traces as in Node', async t => {
  await sameAsNode(
    t,
    `import diagnostics, { channel, Channel, hasSubscribers, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
    import { AsyncLocalStorage } from 'node:async_hooks';`,
    `const first = channel('first');
    const key = Symbol('key');
    print(first === channel('first'), first.name, first instanceof Channel, channel(key).name, first.hasSubscribers);
    const seen = (message, name) => print('seen', message, name);
    subscribe('first', seen); print(first.hasSubscribers, hasSubscribers('first'), hasSubscribers('other'));
    first.publish({ a: 1 });
    print(unsubscribe('first', seen), first.unsubscribe(seen), first.hasSubscribers); first.publish('unseen');
    const storage = new AsyncLocalStorage();
    first.bindStore(storage, data => ({ from: data })); first.subscribe(() => print('inside', storage.getStore()));
    print(first.runStores('data', function (a) { return [storage.getStore(), this.x, a]; }, { x: 2 }, 3), storage.getStore());
    print(first.unbindStore(storage), first.unbindStore(storage));
    print(first.runStores('data', () => storage.getStore()));
    const traced = tracingChannel('op');
    print(traced.hasSubscribers, traced.start.name, traced.asyncEnd.name);
    print(traced.traceSync(function (a) { return this.y + a; }, undefined, { y: 1 }, 2));
    const handlers = {};
    for (const event of ['start', 'end', 'asyncStart', 'asyncEnd', 'error']) {
      handlers[event] = context => print(event, context, context.error instanceof Error ? context.error.message : '');
    }
    traced.subscribe(handlers); print(traced.hasSubscribers);
    print(traced.traceSync(() => 'result', { id: 1 }));
    attempt(() => traced.traceSync(() => { throw new Error('sync'); }, { id: 2 }));
    print(await traced.tracePromise(async a => a, { id: 3 }, null, 'later'));
    await traced.tracePromise(async () => { throw new Error('async'); }, { id: 4 }).catch(error => print(error));
    await new Promise(resolve => print(traced.traceCallback((a, callback) => { queueMicrotask(() => callback(null, a)); return 'returned'; },
      -1, { id: 5 }, null, 'called', (error, value) => { print(error, value); resolve(); })));
    await new Promise(resolve => traced.traceCallback(callback => queueMicrotask(() => callback(new Error('called'))),
      0, { id: 6 }, null, error => { print(error); resolve(); }));
    attempt(() => traced.traceCallback(() => {}, -1, {}, null, 'no function'));
    print(traced.unsubscribe(handlers), traced.unsubscribe(handlers));
    const own = { start: channel('s'), end: channel('e'), asyncStart: channel('as'), asyncEnd: channel('ae'), error: channel('er') };
    print(tracingChannel(own).start === own.start);
    for (const bad of [() => channel(5), () => first.subscribe(5)]) attempt(bad);
    try { tracingChannel(5); } catch (error) { print(error.code); }`,
  );
});

test('node:perf_hooks has the performance of the realm, and says what it has not', async t => {
  await sameAsNode(
    t,
    `import { constants, performance, PerformanceEntry, PerformanceObserver } from 'perf_hooks';`,
    `print(performance === globalThis.performance, typeof performance.now(), constants.NODE_PERFORMANCE_GC_MAJOR);
    print(performance.mark('a') instanceof PerformanceEntry, performance.measure('b', 'a').entryType);
    print(await new Promise(resolve => {
      new PerformanceObserver(list => resolve(list.getEntries().map(entry => entry.name))).observe({ entryTypes: ['mark'] });
      performance.mark('observed');
    }));`,
  );
  const [isolation] = ISOLATIONS;
  if (isolation === undefined) return;
  const lines = await inFunction(
    t,
    `import { monitorEventLoopDelay } from 'node:perf_hooks';`,
    'attempt(() => monitorEventLoopDelay());',
    { isolation },
  );
  t.regex(lines.join(), /EDGE_NOT_SUPPORTED node:perf_hooks: monitorEventLoopDelay\(\) is not supported in functions/);
});
