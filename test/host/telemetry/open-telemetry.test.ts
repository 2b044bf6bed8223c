/** Spans and metrics, as a provider of OpenTelemetry gets them. The API has one provider for a process: tests run one after the other. */

import process from 'node:process';
import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import anyTest, { type TestFn } from 'ava';
import type { EdgeFunction, EdgeHost } from '../../../src/index.js';
import { handler, newHost, nextInvocation } from '../new-host.js';
import { overBoth } from '../protocols.js';
import { afterEvent, type RecordedSpan, recorded } from './recorder.js';

const test = anyTest.serial as TestFn<never>; // no context

const PARENT = Symbol('parent');

test('spans and metrics go to the providers of OpenTelemetry that the application has registered', async t => {
  const active = ROOT_CONTEXT.setValue(PARENT, 'request of the application');
  const { recorder, host } = await recorded(t, {}, active);
  const source = handler('if (request.url.endsWith("/bad")) throw new TypeError("no"); return new Response("x")');
  const fn = await host.load(source, { name: 'traced' });
  for (const path of ['good', 'bad']) {
    const event = nextInvocation(host);
    await fn.fetch(`http://x/${path}`).catch(() => {});
    await afterEvent(event);
  }
  const [good, bad] = recorder.spans;
  t.is(recorder.spans.length, 2);
  t.is(good?.name, 'traced');
  t.is(good?.parent?.getValue(PARENT), 'request of the application');
  t.is(good?.kind, SpanKind.SERVER);
  t.like(good?.attributes, {
    'faas.name': 'traced',
    'faas.trigger': 'http',
    'http.response.status_code': 200,
    'url.full': 'http://x/good',
    'edgehost.outcome': 'ok',
  });
  t.is(good?.status, undefined);
  t.deepEqual([good?.ends, bad?.ends], [1, 1]);
  t.is(bad?.status?.code, SpanStatusCode.ERROR);
  t.like(bad?.attributes, { 'error.type': 'EDGE_HANDLER_THREW', 'edgehost.outcome': 'exception' });
  t.is(good?.exceptions.length, 0);
  t.like(bad?.exceptions, [{ name: 'TypeError' }]);
  t.deepEqual(
    recorder.measured
      .filter(({ name }) => name === 'edgehost.invocations')
      .map(({ attributes }) => attributes?.['edgehost.outcome']),
    ['ok', 'exception'],
  );
  t.is(recorder.measured.filter(({ name }) => name === 'edgehost.invocation.cpu_time').length, 2);
});

test('histograms have boundaries between which their values fall', async t => {
  const { recorder, host } = await recorded(t);
  const fn = await host.load(handler('return new Response("x")'));
  const event = nextInvocation(host);
  await fn.fetch('http://x/');
  await afterEvent(event);
  for (const name of ['duration', 'cpu_time', 'peak_memory'].map(part => `edgehost.invocation.${part}`)) {
    const boundaries = recorder.instruments.get(name)?.advice?.explicitBucketBoundaries ?? [];
    t.true(boundaries.length > 10, name);
    t.deepEqual(
      [...boundaries].sort((a, b) => a - b),
      boundaries,
    );
    const value = recorder.measured.find(measured => measured.name === name)?.value ?? Number.POSITIVE_INFINITY;
    t.true(value < (boundaries.at(-1) ?? 0), `${name} ${value}`);
  }
  t.true(
    recorder.instruments.get('edgehost.invocation.peak_memory')?.advice?.explicitBucketBoundaries?.includes(2 ** 27),
  );
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT_SPAN = 'b7ad6b7169203331';

overBoth('a request that says what it belongs to is its child, and so is what the function asks', async (t, client) => {
  const asked: Headers[] = [];
  const { recorder, host } = await recorded(t, {
    outbound: request => {
      asked.push(request.headers);
      return new Response('x', { status: 418 });
    },
  });
  const fn = await host.load(
    handler(`
      await (await fetch('https://a.example/path?q=1', { method: 'PUT', body: 'x' })).text();
      await (await fetch('https://b.example/', { headers: { traceparent: 'of its own' } })).text();
      await env.FILES.head('key');
      return new Response('x')`),
    { buckets: { FILES: 'files' } },
  );
  const origin = await client.listen(t, host.listener({ function: fn }));
  const event = nextInvocation(host);
  const headers = { traceparent: `00-${TRACE}-${PARENT_SPAN}-01`, tracestate: 'vendor=value' };
  await (await client.fetch(origin, { headers })).text();
  await afterEvent(event);
  const [invocation, first, second, third] = recorder.spans;
  t.is(recorder.spans.length, 4);
  const parentOf = (span: RecordedSpan | undefined): SpanContext | undefined =>
    span?.parent === undefined ? undefined : trace.getSpanContext(span.parent);
  t.like(parentOf(invocation), { traceId: TRACE, spanId: PARENT_SPAN, traceFlags: 1, isRemote: true });
  for (const call of [first, second, third]) {
    t.is(parentOf(call)?.spanId, invocation?.own.spanId);
    t.is(call?.kind, SpanKind.CLIENT);
    t.is(call?.ends, 1);
  }
  t.is(first?.name, 'PUT');
  t.like(first?.attributes, {
    'http.request.method': 'PUT',
    'url.full': 'https://a.example/path?q=1',
    'server.address': 'a.example',
    'http.response.status_code': 418,
  });
  t.is(third?.name, 'bucket head');
  t.like(third?.attributes, { 'edgehost.service': 'bucket', 'edgehost.method': 'head', 'edgehost.binding': 'FILES' });
  t.is(asked[0]?.get('traceparent'), `00-${TRACE}-${first?.own.spanId}-01`);
  t.is(asked[0]?.get('tracestate'), 'vendor=value');
  t.is(asked[1]?.get('traceparent'), 'of its own');
});

test('a span of a subrequest that fails says so', async t => {
  const { recorder, host } = await recorded(t, {
    outbound: () => {
      throw new Error('unreachable');
    },
  });
  const fn = await host.load(
    handler(`
      await fetch('https://a.example/').catch(() => {});
      await fetch('https://user:secret@b.example/').catch(() => {});
      return new Response('x')`),
  );
  const event = nextInvocation(host);
  await fn.fetch('http://x/');
  await afterEvent(event);
  const [, failed, ...rest] = recorder.spans;
  t.is(failed?.status?.code, SpanStatusCode.ERROR);
  t.is(failed?.ends, 1);
  t.false(JSON.stringify(rest.map(({ attributes, status }) => [attributes, status])).includes('secret'));
});

/** How an invocation with a call under way comes to its end; `fn` is asked by the test. Resolves when the caller knows. */
const ENDS: Readonly<Record<string, { readonly limits?: object; readonly end: (rig: EndRig) => Promise<unknown> }>> = {
  'its client going away': {
    end: async ({ fn, isAsked }) => {
      const controller = new AbortController();
      const answer = fn.fetch('http://x/wait', { signal: controller.signal });
      await isAsked;
      controller.abort();
      await answer.catch(() => {});
    },
  },
  'its CPU limit': { limits: { cpuMs: 50 }, end: ({ fn }) => fn.fetch('http://x/spin').catch(() => {}) },
  'its handler, that leaves the call alone': { end: ({ fn }) => fn.fetch('http://x/leave') },
  'its cell being killed': {
    end: async ({ fn, host, isAsked }) => {
      const answer = fn.fetch('http://x/wait').catch(() => {});
      await isAsked;
      const [cell] = host.health().cells;
      if (cell?.pid === undefined) throw new Error('There is no cell');
      process.kill(cell.pid, 'SIGKILL');
      await answer;
    },
  },
  'its function being unloaded and the host closed': {
    end: async ({ fn, host, isAsked }) => {
      const answer = fn.fetch('http://x/wait').catch(() => {});
      await isAsked;
      await host.close({ drainMs: 0 });
      await answer;
    },
  },
};

interface EndRig {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  /** The call of the function has come to the application, which does not answer it. */
  readonly isAsked: Promise<void>;
}

for (const [what, { limits = {}, end }] of Object.entries(ENDS)) {
  test(`an invocation that is ended by ${what} ends all of its spans, each once`, async t => {
    let asked = (): void => {};
    const isAsked = new Promise<void>(resolve => {
      asked = resolve;
    });
    const { recorder, host } = await recorded(t, {
      limits,
      isolation: 'process',
      outbound: request => {
        asked();
        return new Promise((_, reject) => {
          request.signal.addEventListener('abort', () => reject(request.signal.reason));
        });
      },
    });
    const fn = await host.load(
      handler(`
        const call = fetch('https://a.example/');
        switch (new URL(request.url).pathname) {
          case '/wait': return call;
          case '/leave': call.catch(() => {}); await scheduler.wait(1); return new Response('left');
          default: call.catch(() => {}); await scheduler.wait(1); for (;;);
        }`),
    );
    const event = nextInvocation(host);
    await end({ host, fn, isAsked });
    await afterEvent(event);
    const [invocation, call, ...others] = recorder.spans;
    t.deepEqual(others, []);
    t.is(call?.own.traceId, invocation?.own.traceId);
    while (recorder.spans.some(({ ends }) => ends === 0)) await new Promise(resolve => setTimeout(resolve, 10));
    t.deepEqual(
      recorder.spans.map(({ ends }) => ends),
      [1, 1],
    );
  });
}

test('a traceparent that the standard does not allow is none', async t => {
  const { recorder, host } = await recorded(t);
  const fn = await host.load(handler('return new Response("x")'));
  for (const traceparent of [
    '',
    `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT_SPAN}-01`,
    `00-${TRACE}-${PARENT_SPAN}-01-more`,
    `ff-${TRACE}-${PARENT_SPAN}-01`,
    `00-${TRACE}0-${PARENT_SPAN}-01`,
  ]) {
    const event = nextInvocation(host);
    await fn.fetch('http://x/', { headers: { traceparent } });
    await afterEvent(event);
    const parent = recorder.spans.at(-1)?.parent;
    t.is(parent === undefined ? undefined : trace.getSpanContext(parent), undefined, traceparent);
  }
  t.is(recorder.spans.length, 6);
});

test('what the application is doing goes before what the request says', async t => {
  const active = trace.setSpanContext(ROOT_CONTEXT, { traceId: '2'.repeat(32), spanId: '3'.repeat(16), traceFlags: 1 });
  const { recorder, host } = await recorded(t, {}, active);
  const fn = await host.load(handler('return new Response("x")'));
  const event = nextInvocation(host);
  await fn.fetch('http://x/', { headers: { traceparent: `00-${TRACE}-${PARENT_SPAN}-01` } });
  await afterEvent(event);
  t.is(recorder.spans[0]?.own.traceId, '2'.repeat(32));
});

test('without a provider nothing is added to what functions ask', async t => {
  const asked: Headers[] = [];
  const host = newHost(t, {
    outbound: request => {
      asked.push(request.headers);
      return new Response('x');
    },
  });
  const fn = await host.load(handler('return fetch("https://a.example/")'));
  await (await fn.fetch('http://x/', { headers: { traceparent: `00-${TRACE}-${PARENT_SPAN}-01` } })).text();
  t.false(asked[0]?.has('traceparent'));
});
