import test from 'ava';

import { ZONE_PLANS } from '../../../src/quotas/limits.js';
import { BodyCounter, checkRequestHead } from '../../../src/quotas/requests/request-checks.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';

const LIMITS = resolveLimits();
const KB = 1024;

function check(url: string, headers: readonly string[] = []) {
  return checkRequestHead({ method: 'POST', url, headers }, LIMITS);
}

test('checkRequestHead() takes a URL of 16 KB and none of a byte more', t => {
  t.notThrows(() => check('a'.repeat(16 * KB)));
  t.throws(() => check('a'.repeat(16 * KB + 1)), { code: 'EDGE_URL_TOO_LONG', message: /limits\.urlBytes/ });
});

test('checkRequestHead() takes a header of 16 KB and none of a byte more', t => {
  t.notThrows(() => check('/', ['x', 'a'.repeat(16 * KB - 1)]));
  const error = t.throws(() => check('/', ['x', 'a'.repeat(16 * KB)]), { code: 'EDGE_HEADERS_TOO_LARGE' });
  t.regex(error.message, /the header "x" is 16,385 bytes, limit headerBytes is 16,384 bytes/);
});

test('checkRequestHead() takes headers of 32 KB together and none of a byte more', t => {
  const half = ['x', 'a'.repeat(16 * KB - 1)];
  t.notThrows(() => check('/', [...half, ...half]));
  const error = t.throws(() => check('/', [...half, ...half, 'y', '']), { code: 'EDGE_HEADERS_TOO_LARGE' });
  t.regex(error.message, /limit headersBytes/);
});

test('checkRequestHead() takes the headers of a Headers object', t => {
  const headers = new Headers({ 'content-length': '5', 'x-a': '1' });
  t.is(checkRequestHead({ method: 'PUT', url: '/', headers }, LIMITS).contentLength, 5);
  t.is(checkRequestHead({ method: 'PUT', url: '/', headers: new Headers() }, LIMITS).contentLength, undefined);
});

for (const zonePlan of ZONE_PLANS) {
  test(`checkRequestHead() takes a Content-Length of the limit of zone plan ${zonePlan} and none of a byte more`, t => {
    const limits = resolveLimits({ zonePlan });
    const head = (length: number) => ({ method: 'POST', url: '/', headers: ['Content-Length', String(length)] });
    t.is(checkRequestHead(head(limits.bodyBytes), limits).contentLength, limits.bodyBytes);
    const error = t.throws(() => checkRequestHead(head(limits.bodyBytes + 1), limits), { code: 'EDGE_BODY_TOO_LARGE' });
    t.like(error, { status: 413 });
    t.regex(error.message, new RegExp(`plan ${zonePlan}`));
  });
}

test('checkRequestHead() declines Transfer-Encoding together with Content-Length', t => {
  const headers = ['transfer-encoding', 'chunked', 'CONTENT-LENGTH', '5'];
  t.throws(() => check('/', headers), { code: 'EDGE_REQUEST_MALFORMED', message: /both/ });
  t.notThrows(() => check('/', ['Transfer-Encoding', 'chunked']));
});

for (const value of ['-1', '+1', '1.5', '1e3', '', ' ', 'abc', '0x10', '1,1', '9'.repeat(30)]) {
  test(`checkRequestHead() declines the Content-Length ${JSON.stringify(value)}`, t => {
    t.throws(() => check('/', ['content-length', value]), { code: 'EDGE_REQUEST_MALFORMED' });
  });
}

test('checkRequestHead() declines two Content-Lengths that differ', t => {
  t.throws(() => check('/', ['content-length', '1', 'content-length', '2']), { code: 'EDGE_REQUEST_MALFORMED' });
  t.notThrows(() => check('/', ['content-length', '1', 'content-length', '1']));
});

test('add() takes a body up to the limit and no byte past it', t => {
  const limits = resolveLimits({ overrides: [{ bodyBytes: 10 }] });
  const counter = new BodyCounter(limits);
  counter.add(4);
  counter.add(6);
  t.is(counter.bytes, 10);
  t.throws(() => counter.add(1), { code: 'EDGE_BODY_TOO_LARGE' });
});
