import test from 'ava';
import { EDGE_ERRORS, isEdgeErrorCode } from '../../../src/quotas/errors.js';
import { errorPage, PAGE_NUMBERS, prefersJson } from '../../../src/quotas/requests/error-pages.js';

function header(headers: readonly string[], name: string): string | undefined {
  const index = headers.indexOf(name);
  return index === -1 ? undefined : headers[index + 1];
}

for (const code of Object.keys(EDGE_ERRORS)) {
  test(`errorPage() makes a page and JSON for ${code}`, t => {
    if (!isEdgeErrorCode(code)) return t.fail();
    const page = errorPage({ code });
    t.is(page.status, EDGE_ERRORS[code].status);
    t.is(header(page.headers, 'content-type'), 'text/html; charset=utf-8');
    t.is(header(page.headers, 'content-length'), String(Buffer.byteLength(page.body)));
    t.regex(page.body, /^<!doctype html>/);
    t.true(page.body.includes(String(PAGE_NUMBERS[code] ?? code)));
    const json = errorPage({ code, accept: 'application/json' });
    t.like(JSON.parse(json.body), { error: { code, status: EDGE_ERRORS[code].status } });
    t.is(header(json.headers, 'content-type'), 'application/json; charset=utf-8');
  });
}

test('errorPage() has the codes of the specification for its rate limits', t => {
  const burst = errorPage({ code: 'EDGE_RATE_LIMITED', accept: 'text/html', retryAfterMs: 1 });
  t.is(burst.status, 429);
  t.regex(burst.body, /Error 1015/);
  t.is(header(burst.headers, 'retry-after'), '1');
  t.regex(errorPage({ code: 'EDGE_DAILY_LIMIT' }).body, /Error 1027/);
  t.is(JSON.parse(errorPage({ code: 'EDGE_DAILY_LIMIT', accept: 'application/json' }).body).error.number, 1027);
});

test('errorPage() has the text of the specification for a body that is too large', t => {
  const page = errorPage({ code: 'EDGE_BODY_TOO_LARGE' });
  t.is(page.status, 413);
  t.regex(page.body, /Request entity too large/);
});

test('errorPage() escapes the id, which a client may have chosen', t => {
  const { body } = errorPage({ code: 'EDGE_INTERNAL', id: '<script>alert("1")</script>' });
  t.false(body.includes('<script'));
  t.true(body.includes('&#60;script&#62;'));
});

for (const [accept, expected] of [
  ['', false],
  ['*/*', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
  ['application/json', true],
  ['application/json, text/plain, */*', true],
  ['APPLICATION/JSON', true],
  ['application/problem+json', true],
  ['text/html, application/json', false],
  ['text/html;q=0.5, application/json', true],
  ['text/html, application/json;q=0.9', false],
  ['application/json;q=0', false],
  ['application/json;q=abc', false],
  [',;=,;;', false],
] as const) {
  test(`prefersJson() is ${expected} for ${JSON.stringify(accept)}`, t => {
    t.is(prefersJson(accept), expected);
  });
}
