import test from 'ava';

import { LIMIT_OVERRIDES } from '../../src/quotas/limit-schema.js';
import {
  INVOCATION_KINDS,
  isLimitName,
  LIMIT_NAMES,
  LIMITS,
  limitRow,
  PLANS,
  type Plan,
  ZONE_PLANS,
} from '../../src/quotas/limits.js';
import { type LimitOverrides, limitOf, resolveLimits } from '../../src/quotas/resolve-limits.js';
import { complaintAbout } from '../../src/quotas/schema/check.js';
import { dotted, sentence } from '../../src/quotas/schema/complaint.js';

const MB = 1024 * 1024;

/** The specification's tables and rules, written out once more: a slip in either copy shows. */
const BY_PLAN: Readonly<Record<string, readonly [number, number, number, number]>> = {
  subrequests: [50, 50, 1000, 1000],
  connections: [6, 6, 6, 6],
  envVars: [64, 128, 128, 128],
  envVarBytes: [5120, 5120, 5120, 5120],
  scriptBytes: [MB, 10 * MB, 10 * MB, 10 * MB],
  assetFiles: [20_000, 20_000, 20_000, 20_000],
  assetFileBytes: [25 * MB, 25 * MB, 25 * MB, 25 * MB],
  startupMs: [400, 400, 400, 400],
  functions: [100, 500, 500, 500],
  cronTriggers: [5, 250, 250, 250],
  requestsPerDay: [100_000, Infinity, Infinity, Infinity],
  requestsPerMinute: [1000, Infinity, Infinity, Infinity],
  memoryBytes: [128 * MB, 128 * MB, 128 * MB, 128 * MB],
  internalSubrequests: [1000, 1000, 1000, 1000],
  cacheCalls: [50, 50, 1000, 1000],
  cacheObjectBytes: [512 * MB, 512 * MB, 512 * MB, 512 * MB],
  waitUntilMs: [30_000, 30_000, 30_000, 30_000],
  urlBytes: [16_384, 16_384, 16_384, 16_384],
  headersBytes: [32_768, 32_768, 32_768, 32_768],
  headerBytes: [16_384, 16_384, 16_384, 16_384],
  responseBytes: [Infinity, Infinity, Infinity, Infinity],
  routesPerZone: [1000, 1000, 1000, 1000],
  zonesPerFunction: [1000, 1000, 1000, 1000],
  logBytes: [131_072, 131_072, 131_072, 131_072],
  instances: [1, 1, 1, 1],
  listEntries: [1000, 1000, 1000, 1000],
  multipartUploadMs: [604_800_000, 604_800_000, 604_800_000, 604_800_000],
  envVarsPerAccount: [Infinity, Infinity, Infinity, Infinity],
};

const BY_KIND: readonly (readonly ['cpuMs' | 'wallMs', Plan, readonly [number, number, number]])[] = [
  ['cpuMs', 'free', [10, 10, 10]],
  ['cpuMs', 'bundled', [50, 50, 50]],
  ['cpuMs', 'unbound', [30_000, 900_000, 900_000]],
  ['cpuMs', 'standard', [30_000, 900_000, 900_000]],
  ['wallMs', 'free', [Infinity, Infinity, Infinity]],
  ['wallMs', 'bundled', [Infinity, Infinity, Infinity]],
  ['wallMs', 'unbound', [Infinity, 900_000, 900_000]],
  ['wallMs', 'standard', [Infinity, 900_000, 900_000]],
];

for (const [name, figures] of Object.entries(BY_PLAN)) {
  test(`LIMITS has the figures of the specification for ${name}`, t => {
    t.true(isLimitName(name));
    if (!isLimitName(name)) return;
    t.deepEqual(
      PLANS.map(plan => limitOf(resolveLimits({ plan }), name, 'fetch')),
      [...figures],
    );
  });
}

for (const [name, plan, [fetch, scheduled, queue]] of BY_KIND) {
  test(`LIMITS has the figures of the specification for ${name} of ${plan}`, t => {
    t.like(resolveLimits({ plan })[name], { fetch, scheduled, queue });
  });
}

test('LIMITS has 15 minutes of wall time for alarms of unbound and standard', t => {
  t.deepEqual(
    PLANS.map(plan => resolveLimits({ plan }).wallMs.alarm),
    [Infinity, Infinity, 900_000, 900_000],
  );
});

test('LIMITS has body and cache file sizes by the plan of the zone', t => {
  const figures = ZONE_PLANS.map(zonePlan => resolveLimits({ zonePlan }));
  t.deepEqual(
    figures.map(limits => limits.bodyBytes),
    [100 * MB, 100 * MB, 200 * MB, 500 * MB],
  );
  t.deepEqual(
    figures.map(limits => limits.cacheFileBytes),
    [512 * MB, 512 * MB, 512 * MB, 5 * 1024 * MB],
  );
});

test('LIMITS turns the anti-abuse limit off for enterprise alone', t => {
  t.deepEqual(
    ZONE_PLANS.map(zonePlan => resolveLimits({ zonePlan }).addressRequestsPerSecond === Infinity),
    [false, false, false, true],
  );
});

test('resolveLimits() has no anti-abuse limit until a zone plan or a actual asks for it', t => {
  t.is(resolveLimits().addressRequestsPerSecond, Infinity);
  t.is(resolveLimits({ zonePlan: 'free' }).addressRequestsPerSecond, 4000);
  t.is(resolveLimits({ overrides: [{ addressRequestsPerSecond: 7 }] }).addressRequestsPerSecond, 7);
});

for (const name of LIMIT_NAMES) {
  test(`LIMITS has only figures for ${name} that an override could give`, t => {
    const { min, max } = limitRow(name);
    for (const plan of PLANS) {
      for (const zonePlan of ZONE_PLANS) {
        for (const kind of INVOCATION_KINDS) {
          const actual = limitOf(resolveLimits({ plan, zonePlan }), name, kind);
          t.true(actual >= min && actual <= max);
          t.true(actual === Infinity || Number.isSafeInteger(actual));
        }
      }
    }
  });

  test(`LIMIT_OVERRIDES takes the bounds of ${name} and nothing past them`, t => {
    const { min, max } = limitRow(name);
    const complaint = (value: number) => complaintAbout(LIMIT_OVERRIDES, { [name]: value });
    t.is(complaint(min), undefined);
    t.is(complaint(max), undefined);
    t.is(limitOf(resolveLimits({ overrides: [{ [name]: max }] }), name, 'fetch'), max);
    for (const wrong of [min - 1, ...(max === Infinity ? [] : [max + 1]), min + 0.5, Number.NaN]) {
      t.like(complaint(wrong), { kind: 'wrong', path: [name], given: `the number ${wrong}`, isOutOfRange: true });
    }
  });
}

test('resolveLimits() is complete and frozen, and does not touch the table', t => {
  const limits = resolveLimits({ overrides: [{ cpuMs: { fetch: 1 } }] });
  t.deepEqual(Object.keys(limits).sort(), [...LIMIT_NAMES, 'plan', 'zonePlan'].sort());
  t.true(Object.isFrozen(limits));
  t.true(Object.isFrozen(limits.cpuMs));
  t.is(limits.cpuMs.fetch, 1);
  t.is(LIMITS.cpuMs.values.standard.fetch, 30_000);
});

test('resolveLimits() takes the plan standard and the zone plan free when none is given', t => {
  t.like(resolveLimits(), { plan: 'standard', zonePlan: 'free', subrequests: 1000 });
});

test('resolveLimits() lets function win over account, and account over host', t => {
  const host: LimitOverrides = { subrequests: 1, envVars: 1, functions: 1 };
  const account: LimitOverrides = { subrequests: 2, envVars: 2 };
  const limits = resolveLimits({ plan: 'free', overrides: [host, account, undefined, { subrequests: 3 }] });
  t.like(limits, { subrequests: 3, envVars: 2, functions: 1, cronTriggers: 5 });
});

test('resolveLimits() takes one actual for all kinds, or one for some', t => {
  t.deepEqual(resolveLimits({ overrides: [{ cpuMs: 7 }] }).cpuMs, {
    fetch: 7,
    scheduled: 7,
    queue: 7,
    alarm: 7,
    tail: 7,
  });
  const limits = resolveLimits({ overrides: [{ cpuMs: 7 }, { cpuMs: { scheduled: 9 } }] });
  t.deepEqual(limits.cpuMs, { fetch: 7, scheduled: 9, queue: 7, alarm: 7, tail: 7 });
});

test('resolveLimits() takes http and cron for fetch and scheduled', t => {
  const { cpuMs } = resolveLimits({ overrides: [{ cpuMs: { http: 8, cron: 9 } }] });
  t.like(cpuMs, { fetch: 8, scheduled: 9 });
  t.deepEqual(Object.keys(cpuMs), [...INVOCATION_KINDS]);
});

test('resolveLimits() leaves a actual alone when an override is undefined', t => {
  // A JavaScript caller may well write { subrequests: undefined }.
  const overrides: object = { subrequests: undefined, cpuMs: { fetch: undefined } };
  t.like(resolveLimits({ plan: 'free', overrides: [overrides] }), { subrequests: 50, cpuMs: { fetch: 10 } });
});

for (const [what, overrides, message] of [
  ['a limit that does not exist', { subrequest: 1 }, /^load\(\) has no key "subrequest"; its keys are .*subrequests/],
  ['a name of Object.prototype', { constructor: 1 }, /no key "constructor"/],
  [
    'text for a number',
    { subrequests: '5' },
    /^subrequests is the string "5", expected a whole number of items from 0/,
  ],
  ['null for a number', { subrequests: null }, /^subrequests is null/],
  ['an object where there is one number', { subrequests: { fetch: 1 } }, /^subrequests is an object/],
  ['a kind that does not exist', { cpuMs: { ftp: 1 } }, /^cpuMs has no key "ftp"; its keys are fetch, scheduled/],
  [
    'an array by kind',
    { cpuMs: [1] },
    /^cpuMs is an array, expected a whole number of ms from 1 on, or Infinity .*fetch/,
  ],
  ['text by kind', { cpuMs: { fetch: '1' } }, /^cpuMs\.fetch is the string "1", expected a whole number of ms/],
  [
    'one kind by two names',
    { cpuMs: { fetch: 1, http: 2 } },
    /^cpuMs is .*has values for fetch and http, which are two names of one kind/,
  ],
  ['an array', [], /^ is an array, expected an object/],
] as const) {
  test(`LIMIT_OVERRIDES refuses ${what}`, t => {
    const complaint = complaintAbout(LIMIT_OVERRIDES, overrides);
    if (complaint === undefined) return t.fail();
    t.regex(sentence(complaint, { place: dotted, owner: 'load()', member: 'key' }), message);
    t.false(complaint.kind === 'wrong' && complaint.isOutOfRange);
  });
}
