/** A host's reports of its invocations: events, statistics, channels, spans and metrics. */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { CHANNELS } from '../../../src/host/invocation/reports/telemetry.js';
import {
  ABUSE_RULE_ID,
  type CellEvent,
  type InvocationEvent,
  type InvocationOutcome,
  type LogEvent,
} from '../../../src/index.js';
import { ROOT, textOf } from '../../docs/markdown.js';
import { portOf } from '../../servers.js';
import { handler, newHost, nextInvocation } from '../new-host.js';

function messagesOf(t: ExecutionContext, name: string): unknown[] {
  const messages: unknown[] = [];
  const listener = (message: unknown): void => {
    messages.push(message);
  };
  subscribe(name, listener);
  t.teardown(() => unsubscribe(name, listener));
  return messages;
}

test('an invocation event has every figure', async t => {
  const host = newHost(t, { outbound: () => new Response('x') });
  const fn = await host.load(
    handler(
      `await (await fetch('https://a.example/')).text(); console.log('one'); return new Response('', { status: 201 })`,
    ),
    {
      name: 'named',
    },
  );
  const event = nextInvocation(host);
  await fn.fetch('http://x/path');
  const { cpuMs, wallMs, peakMemoryBytes, invocation, ...rest } = await event;
  t.true(cpuMs > 0 && cpuMs <= wallMs, `${cpuMs} of ${wallMs}`);
  for (const ms of [cpuMs, wallMs]) t.is(ms, Math.round(ms * 1000) / 1000);
  t.true(peakMemoryBytes >= 0);
  t.regex(invocation, /^[0-9a-f]{16}$/);
  t.deepEqual(rest, {
    account: 'default',
    function: 'named',
    version: fn.version,
    kind: 'fetch',
    outcome: 'ok',
    status: 201,
    method: 'GET',
    url: 'http://x/path',
    requestBytes: 0,
    responseBytes: 0,
    rpcMethod: undefined,
    subrequests: 1,
    calls: { fetch: 1 },
    egressSentBytes: 0,
    egressReceivedBytes: 1,
    connectionsWaited: 0,
    logLines: 1,
    warnings: [],
    error: undefined,
  });
});

test('stats() of the host adds up those of functions and accounts', async t => {
  const host = newHost(t);
  const a = await host.load(handler('return new Response("x")'), { name: 'a' });
  const b = await host.load(handler('throw new Error("no")'), { name: 'b' });
  const other = await host.account('other').load(handler('return new Response("x")'));
  for (const fn of [a, a, b, other]) {
    const event = nextInvocation(host);
    await fn.fetch('http://x/').catch(() => {});
    await event;
  }
  const { accounts } = host.stats();
  t.deepEqual(
    accounts.map(({ account, invocations, outcomes }) => ({ account, invocations, outcomes })),
    [
      { account: 'default', invocations: 3, outcomes: { ok: 2, exception: 1 } },
      { account: 'other', invocations: 1, outcomes: { ok: 1 } },
    ],
  );
  const [first] = accounts;
  t.deepEqual(
    first?.functions.map(({ name, invocations }) => [name, invocations]),
    [
      ['a', 2],
      ['b', 1],
    ],
  );
  t.is(
    first?.wallMs.buckets.reduce((sum, { count }) => sum + count, 0),
    3,
  );
  t.true((first?.cpuMs.sum ?? 0) >= a.stats().cpuMs.sum);
});

test('channels of diagnostics_channel tell of invocations, logs and cells', async t => {
  const invocations = messagesOf(t, 'edgehost:invocation');
  const logs = messagesOf(t, 'edgehost:log');
  const cells = messagesOf(t, 'edgehost:cell');
  const host = newHost(t);
  const account = host.account('watched');
  const fn = await account.load(handler('console.log("line"); return new Response("")'));
  const event = nextInvocation(host);
  await fn.fetch('http://x/');
  await event;
  await host.close();
  const ours = <E extends { readonly account: string | undefined }>(messages: unknown[]): E[] =>
    (messages as E[]).filter(message => message.account === 'watched'); // what the channels are documented to carry
  t.like(ours<InvocationEvent>(invocations)[0], { outcome: 'ok' });
  t.like(ours<LogEvent>(logs)[0], { message: 'line' });
  t.deepEqual(
    ours<CellEvent>(cells).map(({ state }) => state),
    ['started', 'ended'],
  );
});

test('channels of diagnostics_channel tell of floods and of warnings', async t => {
  const floods = messagesOf(t, 'edgehost:abuse');
  const warnings = messagesOf(t, 'edgehost:warning');
  const host = newHost(t, { limits: { addressRequestsPerSecond: 1 }, now: () => Date.UTC(2024, 0, 1) });
  const fn = await host.account('flooded').load(handler('return new Response("")'));
  // With the default bound of node:http for heads, about which the host warns.
  const server = http.createServer(host.listener({ function: fn })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  for (let n = 0; n < 2; n++) await (await fetch(`http://127.0.0.1:${portOf(server)}/`)).text();
  t.deepEqual(floods, [
    {
      ruleId: ABUSE_RULE_ID,
      account: 'flooded',
      address: '127.0.0.1',
      actual: 2,
      allowed: 1,
      time: new Date(Date.UTC(2024, 0, 1)),
    },
  ]);
  t.is(warnings.length, 1);
  t.true(warnings[0] instanceof Error && /maxHeaderSize/.test(warnings[0].message));
});

test('the documentation names each event, channel, instrument and attribute', t => {
  const text = textOf('docs/observability.md');
  const source = ['invocation/reports/telemetry', 'telemetry/tracing', 'telemetry/metrics']
    .map(name => readFileSync(`${ROOT}src/host/${name}.ts`, 'utf8'))
    .join('');
  for (const { name } of Object.values(CHANNELS)) t.true(text.includes(`| \`${String(name)}\` `), String(name));
  const names = [...source.matchAll(/'((?:edgehost|faas|http|url|error)\.[a-z_.]+)'/g)].map(([, name]) => name ?? '');
  t.true(names.length > 15);
  for (const name of names) t.true(text.includes(`\`${name}\``), name);
});

const OUTCOMES: Readonly<Record<InvocationOutcome, true>> = {
  ok: true,
  exception: true,
  exceededCpu: true,
  exceededMemory: true,
  exceededWallTime: true,
  canceled: true,
  responseStreamDisconnected: true,
  isolateLost: true,
};

test('the documentation names each outcome', t => {
  for (const outcome of Object.keys(OUTCOMES))
    t.true(textOf('docs/observability.md').includes(`| \`${outcome}\` `), outcome);
});

test('nothing is published when nobody subscribes', t => {
  t.false(channel('edgehost:invocation').hasSubscribers);
});
