import test from 'ava';

import { LimitWarnings } from '../../src/quotas/limit-warnings.js';
import { PLANS } from '../../src/quotas/limits.js';
import { type LimitOverrides, resolveLimits } from '../../src/quotas/resolve-limits.js';
import { SUBREQUEST_KINDS, type SubrequestKind } from '../../src/quotas/service-calls.js';
import { SubrequestMeter } from '../../src/quotas/subrequest-meter.js';
import { CALL_KINDS } from '../../src/usage/usage-slots.js';

const KINDS: readonly SubrequestKind[] = [
  'fetch',
  'service',
  'socket',
  'cache',
  'bucket',
  'kv',
  'queue',
  'sql',
  'stateful',
  'callback',
];

function countMany(meter: SubrequestMeter, kind: SubrequestKind, times: number): void {
  for (let i = 0; i < times; i++) meter.count(kind);
}

test('kinds of subrequests keep their order, which the columns of usage have: a new one is the last', t => {
  t.deepEqual(Object.keys(SUBREQUEST_KINDS), KINDS);
  t.deepEqual(CALL_KINDS, KINDS);
});

for (const plan of PLANS) {
  for (const kind of KINDS) {
    test(`count() of ${plan} takes ${kind} up to the limit and none past it`, t => {
      const limits = resolveLimits({ plan, overrides: [{ sqlQueries: Number.POSITIVE_INFINITY }] });
      const limit = SUBREQUEST_KINDS[kind];
      const meter = new SubrequestMeter(limits);
      countMany(meter, kind, limits[limit]);
      const error = t.throws(() => meter.count(kind), { code: 'EDGE_SUBREQUEST_LIMIT' });
      t.regex(error.message, new RegExp(`limit ${limit} is .*plan ${plan}, option limits\\.${limit}`));
      t.is(meter[limit], limits[limit], 'the one refused is not counted');
    });
  }
}

test('count() lets cache calls share the quota of fetch', t => {
  const meter = new SubrequestMeter(resolveLimits({ plan: 'free' }));
  countMany(meter, 'cache', 20);
  countMany(meter, 'fetch', 30);
  t.throws(() => meter.count('cache'), { code: 'EDGE_SUBREQUEST_LIMIT' });
  t.throws(() => meter.count('fetch'), { code: 'EDGE_SUBREQUEST_LIMIT' });
  t.is(meter.cacheCalls, 20);
  t.is(meter.total, 50);
});

test('count() keeps internal services apart from the quota of fetch', t => {
  const meter = new SubrequestMeter(resolveLimits({ plan: 'free' }));
  countMany(meter, 'fetch', 50);
  countMany(meter, 'bucket', 999);
  meter.count('kv');
  t.throws(() => meter.count('queue'), { code: 'EDGE_SUBREQUEST_LIMIT', message: /internalSubrequests/ });
  t.is(meter.total, 1050);
});

test('count() holds cache calls to their own actual when that is tighter', t => {
  const overrides: LimitOverrides[] = [{ cacheCalls: 1 }];
  const meter = new SubrequestMeter(resolveLimits({ plan: 'free', overrides }));
  meter.count('cache');
  t.throws(() => meter.count('cache'), { message: /limit cacheCalls is 1/ });
  t.notThrows(() => meter.count('fetch'));
  t.is(meter.subrequests, 2);
});

test('count() refuses all when the limit is 0, and none when it is Infinity', t => {
  const none = new SubrequestMeter(resolveLimits({ overrides: [{ subrequests: 0 }] }));
  t.throws(() => none.count('fetch'), { code: 'EDGE_SUBREQUEST_LIMIT' });
  const warnings = new LimitWarnings();
  const any = new SubrequestMeter(resolveLimits({ overrides: [{ subrequests: Infinity }] }), warnings);
  countMany(any, 'fetch', 5000);
  t.is(any.subrequests, 5000);
  t.is(warnings.all.length, 0);
});

test('count() warns once for each limit when 80 % are used', t => {
  const warnings = new LimitWarnings();
  const meter = new SubrequestMeter(resolveLimits({ plan: 'free' }), warnings);
  countMany(meter, 'fetch', 39);
  t.deepEqual(warnings.all, []);
  countMany(meter, 'fetch', 11);
  countMany(meter, 'kv', 900);
  t.deepEqual(
    warnings.all.map(({ limit, actual, allowed }) => ({ limit, actual, allowed })),
    [
      { limit: 'subrequests', actual: 40, allowed: 50 },
      { limit: 'internalSubrequests', actual: 800, allowed: 1000 },
    ],
  );
  t.is(warnings.all[0]?.message, 'number of subrequests is 40 of 50, option limits.subrequests');
});

test('count() holds SQL queries to sqlQueries, too', t => {
  const meter = new SubrequestMeter(resolveLimits({ plan: 'free' }));
  countMany(meter, 'sql', 50);
  t.throws(() => meter.count('sql'), { code: 'EDGE_SUBREQUEST_LIMIT', message: /limit sqlQueries is 50/ });
  meter.count('kv');
});
