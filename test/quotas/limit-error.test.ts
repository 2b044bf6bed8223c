import test from 'ava';

import { EDGE_ERRORS } from '../../src/quotas/errors.js';
import { formatValue, limitError } from '../../src/quotas/limit-error.js';
import { LIMIT_NAMES, limitRow } from '../../src/quotas/limits.js';

test('limitError() names the act, the actual, the limit, the plan and the option', t => {
  const error = limitError('EDGE_SCRIPT_TOO_LARGE', {
    limit: 'scriptBytes',
    subject: 'load function "hello"',
    actual: 13_002_342,
    allowed: 10_485_760,
    plan: 'standard',
  });
  t.is(
    error.message,
    'Cannot load function "hello": the source after gzip is 12.4 MiB, limit scriptBytes is 10 MiB (plan standard, option limits.scriptBytes)',
  );
  t.is(error.code, 'EDGE_SCRIPT_TOO_LARGE');
  t.is(error.status, 413);
  t.deepEqual(error.limit, { name: 'scriptBytes', actual: 13_002_342, allowed: 10_485_760 });
});

test('limitError() gives exact figures when rounding would make them look alike', t => {
  const breach = {
    limit: 'urlBytes',
    subject: 'serve the request',
    actual: 16_385,
    allowed: 16_384,
    plan: 'free',
  } as const;
  t.regex(limitError('EDGE_URL_TOO_LONG', breach).message, /the URL is 16,385 bytes, limit urlBytes is 16,384 bytes/);
});

test('limitError() says what was measured when it is told', t => {
  const breach = { limit: 'envVarBytes', subject: 'load', actual: 6000, allowed: 5120, plan: 'free' } as const;
  const { message } = limitError('EDGE_LIMIT_EXCEEDED', { ...breach, measured: 'environment variable "A"' });
  t.regex(message, /environment variable "A" is 5\.9 KiB, limit envVarBytes is 5 KiB/);
});

for (const name of LIMIT_NAMES) {
  test(`limitError() makes a message for ${name}`, t => {
    const { code, values } = limitRow(name);
    t.truthy(values);
    if (code === null) return t.pass();
    const error = limitError(code, { limit: name, subject: 'do it', actual: 2, allowed: 1, plan: 'free' });
    t.regex(
      error.message,
      new RegExp(`^Cannot do it: .+ is .+, limit ${name} is .+ \\(plan free, option limits\\.${name}\\)$`),
    );
    t.true(code in EDGE_ERRORS);
  });
}

for (const [actual, unit, text] of [
  [0, 'count', '0'],
  [100_000, 'count', '100,000'],
  [999, 'bytes', '999 bytes'],
  [1024, 'bytes', '1 KiB'],
  [134_217_728, 'bytes', '128 MiB'],
  [5_368_709_120, 'bytes', '5 GiB'],
  [10.25, 'ms', '10.25 ms'],
  [1500, 'ms', '1.5 s'],
  [900_000, 'ms', '15 min'],
  [604_800_000, 'ms', '7 d'],
  [Infinity, 'ms', 'none'],
  [Infinity, 'count', 'none'],
] as const) {
  test(`formatValue() gives ${text} for ${actual} ${unit}`, t => {
    t.is(formatValue(actual, unit), text);
  });
}
