/** Values that functions pass to each other and store arrive as they were sent, or are refused. */
import test, { type ExecutionContext } from 'ava';
import { ISOLATIONS, type Isolation, newHost, textOf } from '../new-host.js';

async function answer(t: ExecutionContext, isolation: Isolation, body: string): Promise<unknown> {
  const fn = await newHost(t, { isolation }).load(
    `import { FunctionEntrypoint, StatefulObject } from 'edgehost:workers';
     export class Echo extends FunctionEntrypoint {
       echo(value) { return value; }
       request(r) { return [r.method, r.credentials, r.cache, r.integrity, r.keepalive]; }
     }
     export class Store extends StatefulObject {
       async kept(name) { await this.ctx.storage.put(name, SAMPLES[name]()); return described(await this.ctx.storage.get(name)); }
       async refused() {
         const values = [() => {}, Symbol('a'), new ReadableStream(), new WritableStream(), new Headers(), new Request('http://a/'), AbortSignal.abort(), [() => {}]];
         return Promise.all(values.map(value => this.ctx.storage.put('a', value).then(() => 'stored', error => error.name)));
       }
     }
     const SAMPLES = {
       sparse() { const array = [1, , undefined]; array.name = 'own'; return array; },
       error() { return Object.assign(new TypeError('m', { cause: 'c' }), { code: 'E_OWN', extra: [1] }); },
       plain() { return Object.assign(new Error('p'), { code: 5 }); },
       pattern() { return /a(b)/gi; },
       boxed() { return [Object(1), Object('s'), Object(true), Object(2n)]; },
       other() { return [new Date(5), 12n, -0, NaN]; },
     };
     const described = value =>
       Array.isArray(value) ? [value.length, Object.keys(value), Object.values(value).map(item => (typeof item) + String(Object.is(item, -0) ? '-0' : item instanceof Date ? item.getTime() : item))]
       : value instanceof Error ? [value.constructor.name, value.message, 'cause' in value, value.cause ?? null, value.code, value.extra ?? null]
       : [value.constructor.name, String(value)];
     const failure = promise => promise.then(() => 'none', error => error.name + ': ' + error.message);
     export default { async fetch(request, env) { return Response.json(await (async () => { ${body} })()); } };`,
    { name: 'values', services: { ECHO: { function: 'values', entrypoint: 'Echo' } }, objects: { STORE: 'Store' } },
  );
  return JSON.parse(await textOf(fn.fetch('http://x/')));
}

for (const isolation of ISOLATIONS) {
  test(`arrays with holes, errors with members, patterns and boxed values are passed and stored whole (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const seen = {};
       for (const name of Object.keys(SAMPLES)) {
         const own = JSON.stringify(described(SAMPLES[name]()));
         seen[name] = [JSON.stringify(described(await env.ECHO.echo(SAMPLES[name]()))) === own, JSON.stringify(await env.STORE.getByName('a').kept(name)) === own, own];
       }
       return seen;`,
    );
    const whole = (own: unknown): unknown[] => [true, true, JSON.stringify(own)];
    t.deepEqual(seen, {
      sparse: whole([3, ['0', '2', 'name'], ['number1', 'undefinedundefined', 'stringown']]),
      error: whole(['TypeError', 'm', true, 'c', 'E_OWN', [1]]),
      plain: whole(['Error', 'p', false, null, 5, null]),
      pattern: whole(['RegExp', '/a(b)/gi']),
      boxed: whole([4, ['0', '1', '2', '3'], ['object1', 'objects', 'objecttrue', 'object2']]),
      other: whole([4, ['0', '1', '2', '3'], ['object5', 'bigint12', 'number-0', 'numberNaN']]),
    });
  });

  test(`what cannot be passed or stored is a DataCloneError (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const values = [Symbol('a'), new AbortController().signal, Response.error(), new Response(null, { status: 101, webSocket: new WebSocketPair()[0] }), Object.assign(new Error('e'), { own: Symbol('a') }), new (class Own {})()];
       const passed = await Promise.all(values.map(value => failure(env.ECHO.echo(value))));
       const cloned = [new Headers(), new Request('http://a/'), AbortSignal.abort()].map(value => { try { structuredClone(value); return 'cloned'; } catch (error) { return error.name; } });
       return [passed.map(text => text.split(':')[0]), await env.STORE.getByName('a').refused(), cloned];`,
    );
    t.deepEqual(seen, [
      Array(6).fill('DataCloneError'),
      Array(8).fill('DataCloneError'),
      Array(3).fill('DataCloneError'),
    ]);
  });

  test(`a Request that is passed keeps its options (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `return [await env.ECHO.request(new Request('http://a/', { method: 'PUT', credentials: 'omit', cache: 'no-store', integrity: 'sha256-x', keepalive: true })), await env.ECHO.request(new Request('http://a/'))];`,
    );
    t.deepEqual(seen, [
      ['PUT', 'omit', 'no-store', 'sha256-x', true],
      ['GET', 'same-origin', 'default', '', false],
    ]);
  });

  test(`an array with holes or properties of its own is not passed to the application (${isolation})`, async t => {
    const got: unknown[] = [];
    const callbacks = { take: (value: unknown) => got.push(value) };
    const fn = await newHost(t, { isolation }).load(
      `const failure = promise => promise.then(() => 'none', error => error.name);
       export default { async fetch(request, env) { return Response.json([await failure(env.APP.take([1, , 2])), await failure(env.APP.take('ab'.match(/b/))), await failure(env.APP.take([1, undefined]))]); } };`,
      { name: 'calls', bindings: { APP: callbacks } },
    );
    t.is(await textOf(fn.fetch('http://x/')), '["DataCloneError","DataCloneError","none"]');
    t.deepEqual(got, [[1, undefined]]);
  });
}
