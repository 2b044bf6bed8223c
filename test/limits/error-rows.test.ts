/** Where each row of the specification's table "Errors" is reached: the tests are named here, and must be there. */
import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { EDGE_ERRORS } from '../../src/quotas/errors.js';

const TESTS = new URL('../../../test/', import.meta.url);

const ROWS: readonly (readonly [row: string, file: string, title: string])[] = [
  ['body larger than the plan allows: 413', 'limits/requests', 'is answered with 413 before any of the body'],
  [
    'body larger than the plan allows: in the stream',
    'host/ingress/listener',
    'early by its Content-Length, and in the stream',
  ],
  ['burst limit: 1015, 429', 'limits/rates', 'the next gets the page of code 1015 with 429'],
  ['anti-abuse: 1015, 429', 'limits/rates', 'a flood from one address is refused with 1015'],
  ['daily limit, fail closed: 1027', 'limits/rates', 'gets the page of code 1027, and midnight UTC serves again'],
  ['daily limit, fail open: bypassed', 'limits/rates', 'fails open goes on as if no function were attached'],
  ['fetch of the same zone fails', 'limits/subrequests', 'to a function of the same zone is refused'],
  ['fetch of a custom domain is allowed', 'limits/subrequests', 'to a custom domain or another zone it is not'],
  ['use of a canceled connection throws', 'limits/connections', 'is canceled, and its later use throws'],
  ['memory past 128 MB', 'limits/memory', 'ends with exceededMemory, and a fresh isolate answers'],
  ['persistent CPU overrun', 'limits/cpu', 'many short turns past the limit end the invocation with exceededCpu'],
  ['an overrun is occasional', 'quotas/cpu-token-bucket', 'grant() terminates consistent overruns at the limit'],
  ['startup over 400 ms', 'limits/deployment', 'load() fails with the time taken when the global scope needs more'],
  [
    'client disconnects',
    'limits/wait-until',
    'a disconnect ends timers and fetches at once when waitUntil holds nothing',
  ],
  ['client disconnects, waitUntil', 'limits/wait-until', 'a disconnect leaves waitUntil its time'],
  [
    'Transfer-Encoding with Content-Length',
    'host/ingress/listener',
    'declines Transfer-Encoding together with Content-Length',
  ],
  ['SRV fields after 2024-05-31', 'management/deprecations/schedule-effects', 'of SRV records after 2024-05-31'],
  [
    'error_chain until 2024-10-01',
    'management/deprecations/schedule-effects',
    'chains the root cause of a DNS validation error',
  ],
  [
    'get with a failed precondition',
    'bindings/bucket/conditions',
    'get() returns the metadata alone when the condition fails',
  ],
  [
    'put with a failed precondition',
    'bindings/bucket/conditions',
    'put() answers null and stores nothing when the condition fails',
  ],
];

for (const [row, file, title] of ROWS) {
  test(`the row "${row}" has a test`, t => {
    t.true(readFileSync(new URL(`${file}.test.ts`, TESTS), 'utf8').includes(title), `${file}: ${title}`);
  });
}

/** Of tests that go over the whole table of codes, and so say nothing of any. */
const TABLES: readonly string[] = ['error-pages.test.ts', 'host-errors.test.ts'];

test('each error code is expected by some test', t => {
  const texts = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts') && !TABLES.some(table => name.endsWith(table)))
    .map(name => readFileSync(new URL(name, TESTS), 'utf8'));
  const missing = Object.keys(EDGE_ERRORS).filter(code => !texts.some(text => text.includes(`'${code}'`)));
  t.deepEqual(missing, []);
});
