/** Subrequests at the bound and one past it, redirects and internal services included; and the rule of the same zone. */
import test from 'ava';
import { LIMITS } from '../../src/quotas/limits.js';
import { handler, newHost, nextInvocation } from '../host/new-host.js';
import { listen } from '../servers.js';

const egress = { allow: ['127.0.0.0/8'] };

/** Counts what succeeds. */
const COUNT = `const tries = Number(new URL(request.url).searchParams.get('n')); let done = 0, message = '';
  const attempt = async call => { try { await call(); done++ } catch (error) { message = error.message } };`;

async function countOf(response: Promise<Response>): Promise<{ readonly done: number; readonly message: string }> {
  return JSON.parse(await (await response).text());
}

for (const plan of ['free', 'bundled', 'standard'] as const) {
  const limit = LIMITS.subrequests.values[plan];
  test(`fetch() is allowed ${limit} times on plan ${plan}, and not once more`, async t => {
    const host = newHost(t, { plan, outbound: () => new Response('x'), limits: { cpuMs: 10_000 } });
    const fn = await host.load(
      handler(`${COUNT} for (let n = 0; n < tries; n++) await attempt(async () => (await fetch('https://a.example/')).text());
        return Response.json({ done, message })`),
    );
    const event = nextInvocation(host);
    const { done, message } = await countOf(fn.fetch(`http://x/?n=${limit + 1}`));
    t.is(done, limit);
    t.regex(message, /limit subrequests is .*option limits\.subrequests/);
    t.like(await event, { subrequests: limit });
  });
}

test('each hop of a redirect counts', async t => {
  const origin = await listen(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
    response.end('end');
  });
  const host = newHost(t, { egress, limits: { subrequests: 5 } });
  const fn = await host.load(
    handler(`const hops = new URL(request.url).pathname; return new Response((await fetch('${origin}' + hops)).body)`),
  );
  const event = nextInvocation(host);
  t.is(await (await fn.fetch('http://x/4')).text(), 'end');
  const { subrequests, warnings } = await event;
  t.is(subrequests, 5);
  t.deepEqual(
    warnings.map(({ limit }) => limit),
    ['subrequests'],
  );
  await t.throwsAsync(fn.fetch('http://x/5'), { code: 'EDGE_HANDLER_THREW', message: /limit subrequests is 5/ });
});

test(`${LIMITS.redirects.values.standard} redirects are followed, and one more is refused by the limit`, async t => {
  const host = newHost(t, {
    outbound: request => {
      const left = Number(new URL(request.url).pathname.slice(1));
      return left > 0
        ? new Response(null, { status: 302, headers: { location: `/${left - 1}` } })
        : new Response('end');
    },
  });
  const fn = await host.load(
    handler(`return new Response((await fetch('https://a.example' + new URL(request.url).pathname)).body)`),
  );
  t.is(await (await fn.fetch('http://x/20')).text(), 'end');
  await t.throwsAsync(fn.fetch('http://x/21'), {
    code: 'EDGE_HANDLER_THREW',
    message: /number of redirects is 21, limit redirects is 20 \(plan standard, option limits\.redirects\)/,
  });
});

test(`a bucket may be called ${LIMITS.internalSubrequests.values.free} times, apart from fetch, and not once more`, async t => {
  const host = newHost(t, { plan: 'free', limits: { cpuMs: 10_000 } });
  const fn = await host.load(
    handler(`${COUNT} for (let n = 0; n < tries; n++) await attempt(() => env.FILES.head('key'));
      return Response.json({ done, message })`),
    { buckets: { FILES: 'files' } },
  );
  const { done, message } = await countOf(fn.fetch(`http://x/?n=${LIMITS.internalSubrequests.values.free + 1}`));
  t.is(done, 1000);
  t.regex(message, /limit internalSubrequests is 1,000/);
});

test('fetch() to a function of the same zone is refused, to a custom domain or another zone it is not', async t => {
  const host = newHost(t, { outbound: request => new Response(`outside ${request.url}`) });
  const target = handler('return new Response("target")');
  await host.load(target, { name: 'route', routes: ['a.example.com/*'] });
  await host.load(target, {
    name: 'domain',
    routes: [{ pattern: 'b.example.com/*', zone: 'example.com', customDomain: true }],
  });
  const fn = await host.load(
    handler(`return new Response((await fetch('https://' + new URL(request.url).pathname.slice(1) + '/')).body)`),
    { name: 'caller', routes: ['c.example.com/*'] },
  );
  await t.throwsAsync(fn.fetch('http://x/a.example.com'), {
    message: /on the same zone, and there is no service binding to it; give it a custom domain/,
  });
  t.is(await (await fn.fetch('http://x/b.example.com')).text(), 'outside https://b.example.com/');
  t.is(await (await fn.fetch('http://x/other.org')).text(), 'outside https://other.org/');
});
