import test from 'ava';
import { handler, ISOLATIONS, newHost, textOf } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

test('nextTick() runs before the promises of the code that returns, and after the promises that wait', async t => {
  await sameAsNode(
    t,
    '',
    `await new Promise(resolve => setTimeout(() => {
      Promise.resolve().then(() => print('promise')).then(() => print('second promise'));
      process.nextTick((a, b) => {
        print('tick', a, b);
        process.nextTick(() => print('tick of a tick'));
        Promise.resolve().then(() => print('promise of a tick'));
      }, 1, 2);
      queueMicrotask(() => process.nextTick(() => { print('tick of a microtask'); setTimeout(resolve); }));
      print('code');
    }));
    attempt(() => process.nextTick(1));`,
  );
});

test('nextTick() keeps the asynchronous context', async t => {
  await sameAsNode(
    t,
    `import { AsyncLocalStorage } from 'node:async_hooks';`,
    `const als = new AsyncLocalStorage();
    await als.run(1, () => new Promise(resolve => process.nextTick(() => { print(als.getStore()); resolve(); })));
    print(als.getStore());`,
  );
});

test('process.env takes texts alone, and hrtime() subtracts', async t => {
  await sameAsNode(
    t,
    '',
    `process.env.EDGEHOST_A = 1; process.env.EDGEHOST_B = undefined; print(process.env.EDGEHOST_A, process.env.EDGEHOST_B);
    attempt(() => { process.env.EDGEHOST_C = Symbol('x'); });
    attempt(() => Object.defineProperty(process.env, 'EDGEHOST_D', { get() {} }));
    delete process.env.EDGEHOST_A; print('EDGEHOST_A' in process.env);
    print(process.hrtime([0, 0]).length, typeof process.hrtime.bigint(), process.hrtime(process.hrtime())[0]);
    attempt(() => process.hrtime(1)); attempt(() => process.hrtime([1]));
    print(process.getBuiltinModule('nothing'), process.getBuiltinModule('node:events') === process.getBuiltinModule('events'));
    print(process.constructor.name, process instanceof process.getBuiltinModule('events'), typeof process.memoryUsage().heapUsed);`,
  );
});

for (const isolation of ISOLATIONS) {
  test(`process.env has the variables by the compatibility date, isolation ${isolation}`, async t => {
    const vars = { A: 'text', B: { b: 1 } };
    const body = 'print(process.env); print(process.env.NODE_ENV); print(process.platform, process.browser);';
    const at = (date: string, compatibilityFlags: never[] | ['nodejs_compat_do_not_populate_process_env'] = []) =>
      inFunction(t, `import process from 'node:process';`, body, {
        isolation,
        vars,
        compatibilityDate: date,
        compatibilityFlags: ['nodejs_compat', ...compatibilityFlags],
      });
    const rest = ['undefined', '"linux" undefined'];
    t.deepEqual(await at('2025-04-01'), [JSON.stringify({ A: 'text', B: '{"b":1}' }), ...rest]);
    t.deepEqual(await at('2025-03-31'), ['{}', ...rest]);
    t.deepEqual(await at('2026-08-04', ['nodejs_compat_do_not_populate_process_env']), ['{}', ...rest]);
  });

  test(`process.exit() ends the invocation and no other, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(`
      let reached = 0;
      let isOpen = false;
      export default { async fetch(request, env, ctx) {
        switch (new URL(request.url).pathname) {
          case '/exit':
            ctx.waitUntil(new Promise(() => {}));
            process.nextTick(() => reached++);
            try { process.exit(3); } catch {}
            return new Response('never');
          case '/stream':
            return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1)); return new Promise(() => setTimeout(() => process.exit(1))); } }, { highWaterMark: 0 }));
          case '/waits':
            while (!isOpen) await scheduler.wait(1);
            return new Response('waited');
          default:
            isOpen = true;
            return new Response(String(reached));
        }
      } };`);
    const waits = fn.fetch('http://x/waits');
    await t.throwsAsync(fn.fetch('http://x/exit'), {
      code: 'EDGE_HANDLER_THREW',
      message: /The function called process\.exit\(3\)/,
    });
    const streamed = await fn.fetch('http://x/stream');
    await t.throwsAsync(streamed.text(), { code: 'EDGE_RESPONSE_STREAM', message: /called process\.exit\(\)/ });
    t.is(await textOf(fn.fetch('http://x/')), '0');
    t.is(await textOf(waits), 'waited');
    await t.throwsAsync(host.load('process.exit(2); export default { fetch() {} };'), {
      code: 'EDGE_SCRIPT_THREW',
      message: /The function called process\.exit\(2\)/,
    });
  });

  test(`process writes to the log and emits events, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const lines: string[] = [];
    host.on('log', ({ level, message }) => lines.push(`${level} ${message}`));
    const fn = await host.load(
      handler(`
        const seen = [];
        process.stdout.write('out\\n'); process.stderr.write('%s error');
        process.on('warning', warning => seen.push(warning.name));
        process.emitWarning('old', 'DeprecationWarning', 'DEP1');
        const rejected = new Promise(resolve => process.on('unhandledRejection', (reason, promise) => { seen.push(reason); resolve([promise]); }));
        const promise = Promise.reject('no');
        seen.push((await rejected)[0] === promise);
        const thrown = new Promise(resolve => process.on('uncaughtException', resolve));
        setTimeout(() => { throw 'thrown'; });
        seen.push(await thrown);
        await new Promise(resolve => { seen.push(typeof setImmediate(resolve).ref); });
        clearImmediate(setImmediate(() => seen.push('never')));
        await new Promise(resolve => setTimeout(resolve, 1));
        console.log('last');
        return Response.json([...seen, global === globalThis, typeof Buffer]);`),
    );
    const last = new Promise(resolve => {
      host.on('log', ({ message }) => message === 'last' && resolve(undefined));
    });
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      'DeprecationWarning',
      'no',
      true,
      'thrown',
      'function',
      true,
      'function',
    ]);
    await last;
    t.deepEqual(lines, ['log out', 'error %s error', 'warn [DEP1] DeprecationWarning: old', 'log last']);
  });
}
