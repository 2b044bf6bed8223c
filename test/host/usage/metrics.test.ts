import test from 'ava';
import { escapedLabel, histogramText, metricText } from '../../../src/host/usage/prometheus.js';
import { handler, newHost } from '../new-host.js';

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const SAMPLE = new RegExp(`^(${NAME})(\\{${LABEL}(?:,${LABEL})*\\})? (\\+Inf|[\\d.]+(?:e[+-]\\d+)?)$`);

interface Metric {
  readonly type: string;
  readonly samples: Map<string, number>;
}

/** As a scraper reads it. @throws Error for what is not the format */
function parse(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const helped = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') helped.add(name);
    else if (kind === 'TYPE') {
      if (!helped.has(name) || metrics.has(name)) throw new Error(`${name} has no help, or comes twice`);
      metrics.set(name, { type: rest, samples: new Map() });
    } else {
      const [, sample = '', labels = '', value] = SAMPLE.exec(line) ?? [];
      const metric = metrics.get(sample) ?? metrics.get(sample.replace(/_(bucket|sum|count)$/, ''));
      if (metric === undefined || metric.samples.has(sample + labels)) throw new Error(`What is ${line}?`);
      metric.samples.set(sample + labels, Number(value?.replace('+Inf', 'Infinity')));
    }
  }
  return metrics;
}

test('metrics() is text that Prometheus reads, with counters, gauges and histograms', async t => {
  const host = newHost(t, { outbound: () => new Response('12345') });
  const over = new Promise(resolve => host.once('invocation', resolve));
  const fn = await host.account('acme').load(handler('return fetch("https://example.com/");'), { name: 'secret' });
  await (await fn.fetch('https://example.org/')).text();
  await over;
  const text = host.metrics();
  const metrics = parse(text);
  const found = (name: string, labels = ''): number | undefined =>
    metrics.get(name.replace(/_(bucket|sum|count)$/, ''))?.samples.get(name + labels) ??
    metrics.get(name)?.samples.get(name + labels);
  t.is(found('edgehost_invocations_total', '{kind="fetch",outcome="ok"}'), 1);
  t.is(found('edgehost_invocations_total', '{kind="fetch",outcome="exception"}'), 0);
  t.is(found('edgehost_service_calls_total', '{service="fetch"}'), 1);
  t.is(found('edgehost_egress_received_bytes_total'), 5);
  t.is(found('edgehost_response_bytes_total'), 5);
  t.is(found('edgehost_functions'), 1);
  t.is(found('edgehost_accounts'), 1);
  t.is(metrics.get('edgehost_invocations_total')?.type, 'counter');
  t.is(metrics.get('edgehost_isolates')?.type, 'gauge');
  t.is(metrics.get('edgehost_invocation_cpu_seconds')?.type, 'histogram');
  t.is(found('edgehost_invocation_duration_seconds_count'), 1);
  const buckets = [...(metrics.get('edgehost_invocation_duration_seconds')?.samples ?? [])]
    .filter(([name]) => name.includes('_bucket'))
    .map(([, value]) => value);
  t.deepEqual(
    buckets,
    [...buckets].sort((a, b) => a - b),
  );
  t.is(buckets.at(-1), 1);
  t.false(text.includes('acme') || text.includes('secret'), 'names of accounts and functions are no labels');
});

test('metrics() counts on when functions are replaced and unloaded', async t => {
  const host = newHost(t);
  let events = 0;
  host.on('invocation', () => events++);
  for (const text of ['one', 'two', 'three']) {
    const fn = await host.load(handler(`return new Response('${text}');`), { name: 'hello' });
    await (await fn.fetch('https://example.org/')).text();
    while (events === 0) await new Promise(setImmediate);
    events = 0;
    if (text === 'two') fn.unload();
  }
  const metrics = parse(host.metrics());
  t.is(metrics.get('edgehost_invocation_cpu_seconds')?.samples.get('edgehost_invocation_cpu_seconds_count'), 3);
  t.is(metrics.get('edgehost_response_bytes_total')?.samples.get('edgehost_response_bytes_total'), 11);
});

test('metrics() tells accounts apart that are asked for, and no others', async t => {
  const host = newHost(t);
  let events = 0;
  host.on('invocation', () => events++);
  for (const id of ['acme', 'other']) {
    const fn = await host.account(id).load(handler('return new Response("x");'));
    await (await fn.fetch('https://example.org/')).text();
  }
  while (events < 2) await new Promise(setImmediate);
  const metrics = parse(host.metrics({ accounts: ['acme', 'unknown'] }));
  const samples = metrics.get('edgehost_account_invocations_total')?.samples;
  t.is(samples?.get('edgehost_account_invocations_total{account="acme",outcome="ok"}'), 1);
  t.is(samples?.get('edgehost_account_invocations_total{account="unknown",outcome="ok"}'), 0);
  t.is(samples?.size, 16);
});

test('metrics() refuses more accounts than it is bounded to, and what is no name', t => {
  const host = newHost(t);
  const accounts = Array.from({ length: 101 }, (_, index) => `a${index}`);
  t.throws(() => host.metrics({ accounts }), { message: /accounts/ });
  t.throws(() => host.metrics({ accounts: ['a"b'] }), { instanceOf: TypeError, message: /accounts/ });
});

test('escapedLabel() lets no value end its label or its line', t => {
  const value = 'a"} 1\n\\"evil 2';
  t.is(escapedLabel(value), 'a\\"} 1\\n\\\\\\"evil 2');
  const text = metricText('name', 'gauge', 'help\nof two lines', [{ labels: { account: value }, value: 1 }]);
  t.is(parse(text).get('name')?.samples.size, 1);
});

test('histogramText() ends with the count of all values', t => {
  const buckets = [{ upTo: 0.5, count: 1 }];
  const text = histogramText('name', 'help', { buckets, sum: 3.5, count: 2 });
  t.true(text.endsWith('name_bucket{le="0.5"} 1\nname_bucket{le="+Inf"} 2\nname_sum 3.5\nname_count 2\n'));
});
