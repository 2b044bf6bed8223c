/** Wall time of the invocations that have no client, and that there are 15 minutes of it on the paid plans that have a limit. */
import test from 'ava';
import type { EdgeFunction } from '../../src/index.js';
import { PLANS } from '../../src/quotas/limits.js';
import { resolveLimits } from '../../src/quotas/resolve-limits.js';
import { newHost, nextInvocation } from './new-host.js';

const KINDS: readonly (readonly [kind: 'scheduled' | 'queue' | 'alarm', (fn: EdgeFunction) => Promise<unknown>])[] = [
  ['scheduled', fn => fn.scheduled()],
  ['queue', fn => fn.queue('q', [{ body: 1 }])],
  ['alarm', fn => fn.alarm()],
];

for (const [kind, call] of KINDS) {
  test(`${kind}() rejects with EDGE_WALL_TIME_LIMIT when the handler takes longer than wallMs`, async t => {
    const host = newHost(t, { limits: { wallMs: { [kind]: 50 } } });
    const fn = await host.load(`export default { async ${kind}() { await scheduler.wait(600_000) } }`);
    const event = nextInvocation(host);
    await t.throwsAsync(call(fn), { code: 'EDGE_WALL_TIME_LIMIT', message: /limit wallMs is 50 ms/ });
    const { outcome, warnings, kind: told } = await event;
    t.is(outcome, 'exceededWallTime');
    t.is(told, kind);
    t.true(warnings.some(({ limit }) => limit === 'wallMs'));
  });

  test(`${kind}() has 15 minutes on the plans unbound and standard, and any time on the others`, t => {
    t.deepEqual(
      PLANS.map(plan => resolveLimits({ plan }).wallMs[kind]),
      [Infinity, Infinity, 900_000, 900_000],
    );
  });
}
