/** The errors with which invocations end when their isolate does. */
import test from 'ava';
import { LOSSES, lossError } from '../../../../src/host/invocation/failures/loss-error.js';
import type { LossReason } from '../../../../src/pool/host/isolate-loss.js';
import type { EdgeErrorCode } from '../../../../src/quotas/errors.js';
import { resolveLimits } from '../../../../src/quotas/resolve-limits.js';

const SUBJECT = { account: 'acme', function: 'hello', limits: resolveLimits({ plan: 'standard' }) };

const CODES: Readonly<Record<LossReason, EdgeErrorCode>> = {
  cpu: 'EDGE_CPU_LIMIT',
  bystander: 'EDGE_ISOLATE_LOST',
  startup: 'EDGE_STARTUP_LIMIT',
  memory: 'EDGE_MEMORY_LIMIT',
  closed: 'EDGE_CLOSED',
  exit: 'EDGE_ISOLATE_LOST',
  failed: 'EDGE_ISOLATE_LOST',
  cell: 'EDGE_CELL_LOST',
  hoard: 'EDGE_MEMORY_LIMIT',
  protocol: 'EDGE_PROTOCOL',
  removed: 'EDGE_ACCOUNT_REMOVED',
  unresponsive: 'EDGE_ISOLATE_LOST',
};

for (const reason of Object.keys(LOSSES)) {
  test(`lossError() names the function when its isolate ended for the reason ${reason}`, t => {
    const known = reason as LossReason; // keys of LOSSES
    const error = lossError(SUBJECT, 'fetch', known, 'the detail', { cpuMs: 30_010, memoryBytes: 200 * 1024 * 1024 });
    t.is(error.code, CODES[known]);
    t.is(error.code, LOSSES[known].code);
    t.regex(error.message, /function "hello"/i);
  });
}

for (const [reason, limit, actual] of [
  ['cpu', 'cpuMs', 30_000],
  ['memory', 'memoryBytes', 128 * 1024 * 1024],
] as const) {
  test(`lossError() of ${reason} tells no less than the limit, whatever the isolate says that it used`, t => {
    const error = lossError(SUBJECT, 'fetch', reason, '', { cpuMs: 0, memoryBytes: 0 });
    t.like(error, { limit: { name: limit, actual, allowed: actual } });
    t.regex(error.message, new RegExp(`limit ${limit} is .*plan standard, option limits\\.${limit}`));
  });
}
