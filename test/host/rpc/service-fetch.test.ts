/** Service bindings: a function fetches another one. */
import test from 'ava';
import { handler, ISOLATIONS, newHost, textOf } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`a function fetches the function of a service binding (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    await host.load(
      handler(
        `return new Response([request.method, request.url, await request.text(), request.headers.get('x-a')].join(' '), { status: 201 });`,
      ),
      { name: 'echo' },
    );
    const fn = await host.load(
      handler(`const answer = await env.ECHO.fetch('https://any.example/path?q=1', { method: 'POST', body: 'böd', headers: { 'x-a': '1' } });
        return new Response(answer.status + ' ' + await answer.text());`),
      { services: { ECHO: 'echo' } },
    );
    t.is(await textOf(fn.fetch('http://x/')), '201 POST https://any.example/path?q=1 böd 1');
  });
}

test('bodies stream through a service binding in both directions', async t => {
  const host = newHost(t);
  await host.load(handler('return new Response(request.body);'), { name: 'echo' });
  const fn = await host.load(handler('return env.ECHO.fetch(request);'), { services: { ECHO: 'echo' } });
  const bytes = new Uint8Array(3_000_000).fill(7);
  const response = await fn.fetch('http://x/', { method: 'POST', body: bytes });
  t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
});

test('a binding names an entrypoint and its props', async t => {
  const host = newHost(t);
  await host.load(
    `import { FunctionEntrypoint } from 'edgehost:workers';
    export class Admin extends FunctionEntrypoint { fetch() { return Response.json([this.ctx.props, this.env.A]); } }
    export const plain = { fetch: (request, env, ctx) => Response.json(['plain', ctx.props]) };
    export default { fetch: (request, env, ctx) => Response.json(['default', ctx.props]) };`,
    { name: 'many', vars: { A: 1 }, props: { own: true } },
  );
  const fn = await host.load(
    handler(`const texts = [];
      for (const name of ['D', 'A', 'P']) texts.push(await (await env[name].fetch('http://y/')).text());
      return new Response(texts.join(' '));`),
    {
      services: {
        D: 'many',
        A: { function: 'many', entrypoint: 'Admin', props: { role: 'ä' } },
        P: { function: 'many', entrypoint: 'plain' },
      },
    },
  );
  t.is(await textOf(fn.fetch('http://x/')), '["default",{}] [{"role":"ä"},1] ["plain",{}]');
  t.is(
    await textOf(
      (
        await host.load(
          handler(`return env.X.fetch('http://y/').then(() => 'no', error => new Response(error.message));`),
          { name: 'other', services: { X: { function: 'many', entrypoint: 'Nope' } } },
        )
      ).fetch('http://x/'),
    ),
    'The function has no entrypoint "Nope": its main module does not export it',
  );
});

test('what the function throws reaches the caller by name and message', async t => {
  const host = newHost(t);
  await host.load(handler(`throw new RangeError('too far');`), { name: 'bad' });
  const fn = await host.load(
    handler(
      `return env.BAD.fetch('http://y/').catch(error => new Response(error.name + ' ' + error.message + ' ' + (error instanceof RangeError)));`,
    ),
    { services: { BAD: 'bad' } },
  );
  t.is(await textOf(fn.fetch('http://x/')), 'RangeError too far true');
});

test('a function that is not there is an error of the call, and works once it is loaded', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`return env.LATE.fetch('http://y/').catch(error => new Response(error.code + ' ' + error.message));`),
    { services: { LATE: 'late' } },
  );
  t.is(
    await textOf(fn.fetch('http://x/')),
    'EDGE_FUNCTION_UNLOADED Cannot call the function of the service binding: Account "default" has no function "late"',
  );
  await host.load(handler(`return new Response('here');`), { name: 'late' });
  t.is(await textOf(fn.fetch('http://x/')), 'here');
});

test('redirects go to the same function, by the mode of the request', async t => {
  const host = newHost(t);
  await host.load(
    handler(
      `return request.url.endsWith('/end') ? new Response(request.url) : Response.redirect('http://elsewhere.example/end');`,
    ),
    { name: 'moved' },
  );
  const fn = await host.load(
    handler(`const followed = await env.B.fetch('http://y/');
      const manual = await env.B.fetch('http://y/', { redirect: 'manual' });
      const refused = await env.B.fetch('http://y/', { redirect: 'error' }).catch(error => error.code);
      return Response.json([await followed.text(), followed.redirected, manual.status, refused]);`),
    { services: { B: 'moved' } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '["http://elsewhere.example/end",true,302,"EDGE_EGRESS_FAILED"]');
});

test('one event begins 32 invocations by calls of functions, and no more', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`const left = Number(request.headers.get('x-left') ?? new URL(request.url).pathname.slice(1));
      if (left === 0) return new Response('end');
      return env.SELF.fetch('http://y/', { headers: { 'x-left': String(left - 1) } }).catch(error => new Response(error.code));`),
    { name: 'self', services: { SELF: 'self' } },
  );
  t.is(await textOf(fn.fetch('http://x/31')), 'end');
  t.is(await textOf(fn.fetch('http://x/32')), 'EDGE_LOOP');
});

test('calls beside each other count to the same 32', async t => {
  const host = newHost(t);
  await host.load(handler(`return new Response('x');`), { name: 'leaf' });
  const fn = await host.load(
    handler(`let ok = 0, code;
      for (let i = 0; i < 40; i++) await env.LEAF.fetch('http://y/').then(() => ok++, error => { code = error.code; });
      return Response.json([ok, code]);`),
    { services: { LEAF: 'leaf' } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '[31,"EDGE_LOOP"]');
});

test('each call is a subrequest of the caller', async t => {
  const host = newHost(t);
  await host.load(handler(`return new Response('x');`), { name: 'leaf' });
  const fn = await host.load(
    handler(`let ok = 0, code;
      for (let i = 0; i < 4; i++) await env.LEAF.fetch('http://y/').then(() => ok++, error => { code = error.code; });
      return Response.json([ok, code]);`),
    { services: { LEAF: 'leaf' }, limits: { subrequests: 3 } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '[3,"EDGE_SUBREQUEST_LIMIT"]');
});

test('the function called is cancelled with the caller', async t => {
  const host = newHost(t);
  let begun = (): void => {};
  const hasBegun = new Promise<void>(resolve => {
    begun = resolve;
  });
  const over = new Promise<string>(resolve => {
    host.on('invocation', event => {
      if (event.function === 'slow') resolve(event.outcome);
    });
  });
  await host.load(
    handler(`await env.APP.begun(); await new Promise(resolve => setTimeout(resolve, 1e9)); return new Response();`),
    {
      name: 'slow',
      bindings: { APP: { begun: () => begun() } },
    },
  );
  const fn = await host.load(handler(`return env.SLOW.fetch('http://y/');`), { services: { SLOW: 'slow' } });
  const controller = new AbortController();
  const answer = fn.fetch('http://x/', { signal: controller.signal });
  await hasBegun;
  controller.abort();
  await t.throwsAsync(answer, { any: true });
  t.is(await over, 'canceled');
});

test('functions of another account are called when both owners allow it', async t => {
  const host = newHost(t);
  const call = handler(`return env.B.fetch('http://y/').catch(error => new Response(error.code));`);
  const services = { B: { function: 'shared', account: 'owner' } };
  await host.account('owner').load(handler(`return new Response('shared');`), { name: 'shared', callers: ['friend'] });
  const friend = await host.account('friend').load(call, { services });
  const stranger = await host.account('stranger').load(call, { services });
  t.is(await textOf(friend.fetch('http://x/')), 'shared');
  t.is(await textOf(stranger.fetch('http://x/')), 'EDGE_FUNCTION_UNLOADED');
});

test('load() refuses a service binding that is none, by what was given', async t => {
  const host = newHost(t);
  const load = (services: object): Promise<unknown> => host.load(handler(''), { services: services as never }); // of a wrong type
  await t.throwsAsync(load({ A: 'not a name' }), {
    instanceOf: TypeError,
    message: /Option services.A of load\(\) is the string "not a name"/,
  });
  await t.throwsAsync(load({ A: { entrypoint: 'X' } }), { message: /services\.A/ });
  await t.throwsAsync(load({ A: { function: 'f', props: { big: 'x'.repeat(65_536) } } }), { message: /services\.A/ });
  await t.throwsAsync(load({ 'a-b': 'f' }), { message: /a-b/ });
});

test('a function deployed over the management API calls another one', async t => {
  const token = 'x'.repeat(40);
  const host = newHost(t);
  host.account('acme');
  const fetch = host.management({
    tokens: [{ name: 'deploys', token, account: 'acme', permissions: ['functions:edit'] }],
  });
  const put = async (name: string, source: string, bindings: readonly object[]): Promise<Response> => {
    const form = new FormData();
    form.set('metadata', JSON.stringify({ main_module: 'index.js', bindings }));
    form.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
    return fetch(
      new Request(`https://api.example.com/accounts/acme/functions/${name}`, {
        method: 'PUT',
        body: form,
        headers: { authorization: `Bearer ${token}` },
      }),
    );
  };
  const api = `import { FunctionEntrypoint } from 'edgehost:workers'; export class Admin extends FunctionEntrypoint { who() { return this.ctx.props; } }`;
  t.is((await put('api', api, [])).status, 200);
  const bindings = [{ type: 'service', name: 'API', service: 'api', entrypoint: 'Admin', props: { a: 1 } }];
  const response = await put('front', handler('return Response.json(await env.API.who());'), bindings);
  t.is(response.status, 200, await response.clone().text());
  const front = host.account('acme').function('front');
  t.is(front === undefined ? undefined : await textOf(front.fetch('http://x/')), '{"a":1}');
});
