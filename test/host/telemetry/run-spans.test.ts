/** Runs of sandboxes, as a provider of OpenTelemetry gets them. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import test from 'ava';
import { nextInvocation } from '../new-host.js';
import { afterEvent, type RecordedSpan, recorded } from './recorder.js';

test('a run is a span, and each of its calls of tools is a child with name, status and duration', async t => {
  const { recorder, host } = await recorded(t);
  const box = host.account('acme').sandbox({
    name: 'agent',
    tools: {
      crm: { find: { run: () => 'Ann' }, remove: { run: () => 'removed' } },
      fail: {
        run: () => {
          throw new RangeError('too far');
        },
      },
      wait: { run: () => new Promise(() => {}) },
    },
    approve: ({ tool }) => (tool === 'crm.remove' ? 'deny' : 'allow'),
  });
  const event = nextInvocation(host);
  const code = `
    tools.wait();
    await tools.crm.find();
    await tools.crm.remove().catch(() => {});
    await tools.fail().catch(() => {});
    await tools.crm.fnd().catch(() => {});
    throw new TypeError('no')`;
  // A text that looks like the head of a request is input, and nothing else.
  const input = `\ntraceparent\n00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  const { id, calls } = await box.run(code, { input });
  await afterEvent(event);
  const [run, ...tools] = recorder.spans;
  t.is(run?.name, 'run agent');
  t.is(run?.kind, SpanKind.INTERNAL);
  t.is(run?.status?.code, SpanStatusCode.ERROR);
  t.like(run?.exceptions, [{ name: 'TypeError' }]);
  t.like(run?.attributes, {
    'edgehost.account': 'acme',
    'faas.name': 'agent',
    'faas.trigger': 'other',
    'faas.invocation_id': id,
    'edgehost.outcome': 'exception',
    'edgehost.tool_calls': 5,
  });
  t.true(Number(run?.attributes['edgehost.tool_time_ms']) > 0);
  t.false('http.request.method' in (run?.attributes ?? {}));
  const parentOf = (span: RecordedSpan | undefined): string | undefined =>
    span?.parent === undefined ? undefined : trace.getSpanContext(span.parent)?.spanId;
  t.is(parentOf(run), undefined);
  t.deepEqual(
    tools.map(span => [span.name, span.attributes['edgehost.tool_status'], span.status?.code, span.ends]),
    [
      ['tool wait', 'abandoned', undefined, 1],
      ['tool crm.find', 'ok', undefined, 1],
      ['tool crm.remove', 'denied', undefined, 1],
      ['tool fail', 'failed', SpanStatusCode.ERROR, 1],
      ['tool crm.fnd', 'failed', SpanStatusCode.ERROR, 1],
    ],
  );
  t.like(tools[3]?.exceptions, [{ name: 'RangeError', message: 'too far' }]);
  t.deepEqual(
    tools.map(span => span.attributes['edgehost.tool_call']),
    calls.map(call => call.id).sort(),
  );
  t.deepEqual(new Set(tools.map(parentOf)), new Set([run?.own.spanId]));
  const trigger = recorder.measured.find(({ name }) => name === 'edgehost.invocations')?.attributes?.['faas.trigger'];
  t.is(trigger, 'other');
});

test('a resume is a run of its own: a span, an event and a row of usage, with the calls that it has made', async t => {
  const { recorder, host } = await recorded(t);
  const account = host.account('acme');
  const box = account.sandbox({
    name: 'agent',
    tools: { find: { run: () => 'Ann' }, remove: { run: () => 'removed' } },
    approve: ({ tool }) => (tool === 'remove' ? 'pause' : 'allow'),
  });
  const first = nextInvocation(host);
  const paused = await box.run('return [await tools.find(), await tools.remove()]');
  await afterEvent(first);
  if (paused.status !== 'paused') throw new Error(`The run is ${paused.status}`);
  const second = nextInvocation(host);
  const { id, value, calls } = await box.resume(paused.paused.id, { approved: true });
  await afterEvent(second);
  t.deepEqual(value, ['Ann', 'removed']);
  t.deepEqual(
    calls.map(({ tool, parent }) => [tool, parent]),
    [['remove', id]],
  );
  const runs = recorder.spans.filter(({ name }) => name === 'run agent');
  t.deepEqual(
    runs.map(({ attributes }) => attributes['faas.invocation_id']),
    [paused.id, id],
  );
  t.is(runs[1]?.attributes['edgehost.tool_calls'], 1);
  const of = (run: RecordedSpan | undefined): string[] =>
    recorder.spans
      .filter(({ parent }) => parent !== undefined && trace.getSpanContext(parent)?.spanId === run?.own.spanId)
      .map(({ name }) => name);
  t.deepEqual(of(runs[1]), ['tool remove']);
  t.true(of(runs[0]).includes('tool find'));
  const [row] = (await account.usage({ by: 'total' })).records;
  t.is(row?.runs, 2);
  t.is(row?.toolCalls, paused.calls.length + calls.length);
});
