import test from 'ava';
import { nearestName } from '../../../src/quotas/schema/nearest-name.js';

const NAMES = ['maxIsolates', 'maxIsolatesPerAccount', 'idleMs', 'cpuMs', 'egress', 'trustProxy', 'plan'];

for (const [given, expected] of [
  ['maxIsolate', 'maxIsolates'],
  ['max_isolates', 'maxIsolates'],
  ['MAXISOLATES', 'maxIsolates'],
  ['maxIsolatesPerAcount', 'maxIsolatesPerAccount'],
  ['idelMs', 'idleMs'],
  ['cpu_ms', 'cpuMs'],
  ['cpMs', 'cpuMs'],
  ['palns', undefined],
  ['plans', 'plan'],
  ['foo', undefined],
  ['ms', undefined],
  ['', undefined],
  ['__proto__', undefined],
  ['x'.repeat(100_000), undefined],
] as const) {
  test(`nearestName() of ${given.slice(0, 30) || 'nothing'} is ${expected}`, t => {
    t.is(nearestName(given, NAMES), expected);
  });
}
