/** What the invocations of an isolate account for, at each of its edges. */
import test from 'ava';
import { CPU } from '../../../../src/pool/host/cell-usage/cell-bounds.js';
import { CpuClaims, EndedIsolates } from '../../../../src/pool/host/cell-usage/cpu-claims.js';
import { HostOpens, type IsolateLimits } from '../../../../src/protocol/messages.js';

const LIMITS: IsolateLimits = {
  startupMs: 400,
  memoryBytes: 1,
  cpuOverrunMs: 4,
  cpuBalanceMs: 4,
  cpuMs: { fetch: 10, scheduled: 100, queue: 1, alarm: null, tail: null },
};
const REQUEST_MS = (10 + 4) * CPU.helpers + CPU.invocationMs;

function loaded(): CpuClaims {
  const claims = new CpuClaims();
  claims.loading(LIMITS);
  claims.started();
  return claims;
}

test('openMs is what the start of an isolate and of its function may use, until they have started', t => {
  const claims = new CpuClaims();
  t.is(claims.openMs, CPU.isolateMs);
  t.true(claims.isStarting);
  claims.loading(LIMITS);
  t.is(claims.openMs, CPU.isolateMs + 400 * CPU.startupHelpers);
  t.true(claims.isStarting);
  claims.started();
  t.false(claims.isStarting);
  t.is(claims.openMs, 0);
  t.is(claims.earnedMs, CPU.isolateMs + 400 * CPU.startupHelpers);
});

test('polled() takes a spare for started after so many polls, and never a load', t => {
  const spare = new CpuClaims();
  for (let poll = 1; poll < CPU.isolateStartsPolls; poll++) spare.polled();
  t.is(spare.openMs, CPU.isolateMs);
  spare.polled();
  t.is(spare.openMs, 0);
  const loading = new CpuClaims();
  loading.loading(LIMITS);
  for (let poll = 0; poll < 2 * CPU.isolateStartsPolls; poll++) loading.polled();
  t.is(loading.openMs, CPU.isolateMs + 400 * CPU.startupHelpers);
});

test('openMs is the limits of all open invocations, with what can be lent and what helpers use', t => {
  const claims = loaded();
  claims.opened(2, HostOpens.Fetch);
  claims.opened(4, HostOpens.Fetch);
  claims.opened(6, HostOpens.Scheduled);
  t.is(claims.openMs, 2 * REQUEST_MS + 104 * CPU.helpers + CPU.invocationMs);
  claims.opened(8, HostOpens.Queue);
  claims.closed(6, 0);
  // No more than the limit itself is lent.
  t.is(claims.openMs, 2 * REQUEST_MS + 2 * CPU.helpers + CPU.invocationMs);
});

test('closed() earns what is reported, and never more than was allowed', t => {
  const earned = (cpuMs: number | undefined): number => {
    const claims = loaded();
    const before = claims.earnedMs;
    claims.opened(2, HostOpens.Fetch);
    claims.closed(2, cpuMs);
    t.is(claims.openMs, 0);
    return claims.earnedMs - before;
  };
  t.is(earned(0), CPU.invocationMs);
  t.is(earned(3), 3 * CPU.helpers + CPU.invocationMs);
  t.is(earned(4_000_000), REQUEST_MS + CPU.invocationMs);
  t.is(earned(undefined), REQUEST_MS + CPU.invocationMs);
});

test('openMs is infinite while an invocation without a limit is open, and nothing of that is earned', t => {
  const claims = loaded();
  const before = claims.earnedMs;
  claims.opened(2, HostOpens.Alarm);
  t.is(claims.openMs, Number.POSITIVE_INFINITY);
  claims.closed(2, undefined);
  t.is(claims.openMs, 0);
  t.is(claims.earnedMs - before, CPU.invocationMs);
});

test('ended() earns what was open, once', t => {
  const claims = loaded();
  const before = claims.earnedMs;
  claims.opened(2, HostOpens.Fetch);
  claims.ended();
  claims.ended();
  t.is(claims.openMs, 0);
  t.is(claims.earnedMs - before, REQUEST_MS + CPU.invocationMs);
});

test('EndedIsolates lets the thread of each isolate that is over use its time, for a number of polls', t => {
  const ended = new EndedIsolates();
  t.is(ended.openMs, 0);
  ended.ended();
  ended.polled();
  ended.ended();
  t.is(ended.openMs, 2 * CPU.isolateEndMs);
  for (let poll = 1; poll < CPU.isolateEndsPolls; poll++) ended.polled();
  t.is(ended.openMs, CPU.isolateEndMs);
  t.is(ended.earnedMs, CPU.isolateEndMs);
  ended.polled();
  t.is(ended.openMs, 0);
  t.is(ended.earnedMs, 2 * CPU.isolateEndMs);
});
