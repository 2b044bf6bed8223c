/** A function whose isolate is unavailable: waiting calls are rejected, and the failure is reported. */

import test from 'ava';
import { UNTIMED_BODIES } from '../../../src/bindings/bodies/given-bodies.js';
import { KeptBody } from '../../../src/host/deploy/kept-body.js';
import type { InvocationEvent, InvocationOutcome } from '../../../src/host/events.js';
import { FunctionRunner } from '../../../src/host/invocation/function-runner.js';
import type { InvocationContext } from '../../../src/host/invocation/invocation-context.js';
import type { InvocationStart } from '../../../src/host/invocation/invocation-start.js';
import { IsolateCache } from '../../../src/pool/host/isolate-cache.js';
import { HostOpens, type LoadHead } from '../../../src/protocol/messages.js';
import { EdgeError, type EdgeErrorCode } from '../../../src/quotas/errors.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { wideShare } from '../wide-share.js';

const REQUEST: InvocationStart = {
  kind: HostOpens.Fetch,
  head: 'GET\nhttp://x/path\nx-a\nb',
  isUtf8: false,
  body: null,
  isComplete: true,
};
const SINK = { respond() {}, bodyReady() {}, fail() {} };

/** A runner that finds this error instead of an isolate. */
function rig(error: unknown) {
  const events: InvocationEvent[] = [];
  const kinds: string[] = [];
  const context: InvocationContext = {
    account: 'acme',
    function: 'hello',
    version: 'v1',
    limits: resolveLimits(),
    share: wideShare(),
    tails: { isWatched: false, finished() {} },
    idleHttpMs: Number.POSITIVE_INFINITY,
    bodies: UNTIMED_BODIES,
    cpuGrant: limitMs => limitMs,
    services: new Map(),
    connectionSlotRelease: 'body',
    admit: () => ({ kind: 'admit' }),
    requests: () => ({ requestsPerMinute: 0, requestsPerDay: 0 }),
    emitLog() {},
    isReportHeard: () => true,
    onFinished(_outcome, { kind }, event) {
      kinds.push(kind);
      events.push(event());
    },
  };
  const cache = new IsolateCache({ max: 1, idleMs: 1000 });
  const head = (): LoadHead => {
    throw new Error('Nothing is loaded here');
  };
  const runner = new FunctionRunner({
    context,
    body: new KeptBody(new Uint8Array(0), { charge() {} }),
    head,
    endedInPeace: () => {},
    cache,
    acquire: () => Promise.reject(error),
  });
  return { runner, events, kinds };
}

const OUTCOMES: readonly (readonly [EdgeErrorCode, InvocationOutcome])[] = [
  ['EDGE_STARTUP_LIMIT', 'exceededCpu'],
  ['EDGE_MEMORY_LIMIT', 'exceededMemory'],
  ['EDGE_SCRIPT_THREW', 'exception'],
  ['EDGE_CELL_START', 'isolateLost'],
  ['EDGE_OVERLOADED', 'isolateLost'],
  ['EDGE_CLOSED', 'canceled'],
];

for (const [code, outcome] of OUTCOMES) {
  test(`run() tells of an invocation that came to nothing by ${code} with the outcome ${outcome}`, async t => {
    const { runner, events } = rig(new EdgeError(code, 'no isolate'));
    await t.throwsAsync(runner.run(REQUEST, SINK), { code });
    t.is(events.length, 1);
    t.like(events[0], {
      account: 'acme',
      function: 'hello',
      version: 'v1',
      kind: 'fetch',
      outcome,
      method: 'GET',
      url: 'http://x/path',
      status: undefined,
      cpuMs: 0,
      error: { code, message: 'no isolate' },
    });
    t.regex(events[0]?.invocation ?? '', /^[0-9a-f]{16}$/);
  });
}

test('run() tells of each of those that waited for one start', async t => {
  const { runner, events } = rig(new EdgeError('EDGE_CELL_START', 'no cell'));
  await Promise.allSettled([1, 2, 3].map(() => runner.run(REQUEST, SINK)));
  t.is(new Set(events.map(({ invocation }) => invocation)).size, 3);
});

test('run() takes what is no error of ours for an internal one', async t => {
  const { runner, events } = rig(new Error('something else'));
  await t.throwsAsync(runner.run({ ...REQUEST, kind: HostOpens.Alarm, head: '1\n0' }, SINK), { message: /something/ });
  t.like(events[0], { kind: 'alarm', outcome: 'exception', method: undefined, error: { code: 'EDGE_INTERNAL' } });
});

test('load() fails without an event: nobody has been kept waiting', async t => {
  const { runner, events } = rig(new EdgeError('EDGE_SCRIPT_THREW', 'no'));
  await t.throwsAsync(runner.load(), { code: 'EDGE_SCRIPT_THREW' });
  t.deepEqual(events, []);
});
