import test from 'ava';
import fc from 'fast-check';

import { checkHead, checkUrl, headerValue, withoutHeaders } from '../../../src/bindings/egress/request-head.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Heads as a hostile function could write them: near the right shape, with anything in each place. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'GET',
    'host',
    'a\r\nb: c',
    'x\0',
    'content-length',
    '5',
    '\u0100',
    '__proto__',
    'http://a/',
    'FOLLOW',
  ),
);
const anything = fc.oneof(text, fc.jsonValue());
const head = fc.record(
  {
    method: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('GET', 'post', 'CONNECT') }, anything),
    url: fc.oneof({ weight: 4, arbitrary: fc.webUrl({ withFragments: true, withQueryParameters: true }) }, anything),
    headers: fc.oneof(
      {
        weight: 4,
        arbitrary: fc
          .array(fc.tuple(fc.constantFrom('x-a', 'Host', 'Cookie', 'TE'), text), { maxLength: 2 })
          .map(pairs => pairs.flat()),
      },
      fc.array(anything),
      anything,
    ),
    redirect: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('follow', 'error', 'manual') }, anything),
  },
  { requiredKeys: ['method', 'url', 'headers'] },
);

test('checkHead() gives what can be sent as it is, or throws a TypeError, whatever a function writes', t => {
  let passed = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: head }, fc.jsonValue()), value => {
      let checked: ReturnType<typeof checkHead>;
      try {
        checked = checkHead(value);
      } catch (error) {
        return error instanceof TypeError && error.message.length < 1000;
      }
      passed++;
      const { method, url, headers } = checked;
      const names = headers.filter((_, i) => i % 2 === 0);
      return (
        TOKEN.test(method) &&
        /^https?:$/.test(url.protocol) &&
        url.username === '' &&
        url.hash === '' &&
        headers.length % 2 === 0 &&
        names.every(name => TOKEN.test(name) && name === name.toLowerCase() && name !== 'host') &&
        headers.every(part => !/[\r\n\0]/.test(part) && Buffer.from(part, 'latin1').toString('latin1') === part)
      );
    }),
    { numRuns: 3000 },
  );
  t.true(passed > 50, `${passed} heads passed`);
});

test('checkUrl() drops the fragment and keeps an empty query', t => {
  t.is(checkUrl('http://a/b?#c').href, 'http://a/b?');
  t.is(checkUrl('b', new URL('http://a/c')).href, 'http://a/b');
});

test('headerValue() finds a header in any case, by its first value', t => {
  t.is(headerValue(['A', '1', 'b', '2', 'B', '3'], 'b'), '2');
  t.is(headerValue(['a', 'b'], 'b'), undefined);
  t.is(headerValue([], 'b'), undefined);
});

test('withoutHeaders() takes names with their values out, and no values that look like names', t => {
  t.deepEqual(withoutHeaders(['A', 'b', 'B', 'a', 'c', 'B'], new Set(['b'])), ['A', 'b', 'c', 'B']);
});
