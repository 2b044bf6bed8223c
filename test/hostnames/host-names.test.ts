import test from 'ava';
import fc from 'fast-check';
import { nameOfHost, namesAbove, normalName } from '../../src/hostnames/host-names.js';

const SAME: readonly (readonly [text: string, name: string])[] = [
  ['example.com', 'example.com'],
  ['EXAMPLE.Com', 'example.com'],
  ['example.com.', 'example.com'],
  ['m\u00fcnchen.de', 'xn--mnchen-3ya.de'],
  ['XN--MNCHEN-3YA.de.', 'xn--mnchen-3ya.de'],
  ['example\u3002com', 'example.com'],
  ['\uff45xample.com', 'example.com'],
  ['_dmarc.example.com', '_dmarc.example.com'],
  ['localhost', 'localhost'],
  ['127.1', '127.0.0.1'],
  ['[2001:DB8:0::1]', '[2001:db8::1]'],
];
for (const [text, name] of SAME) {
  test(`normalName() writes ${JSON.stringify(text)} as ${name}`, t => {
    t.is(normalName(text), name);
  });
}

for (const text of [
  '',
  '.',
  '..',
  'a..',
  '*',
  'a b',
  'a/b',
  'a:80',
  'a@b',
  'a?b',
  'a#b',
  'a\\b',
  'ex%61mple.com',
  '1.2.3.4.5',
  '[::1',
  'a\tb',
]) {
  test(`normalName() takes ${JSON.stringify(text)} for no name`, t => {
    t.is(normalName(text), undefined);
  });
}

test('normalName() gives what a request for the name has in its URL, and the same for that', t => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string(), fc.string({ unit: 'grapheme' })), text => {
      const name = normalName(text);
      if (name === undefined) return;
      t.is(normalName(name), name);
      t.is(nameOfHost(new URL(`http://${text}:8080/`).host), name);
    }),
    { numRuns: 2000 },
  );
});

test('nameOfHost() leaves out the port and the final dot', t => {
  t.is(nameOfHost('example.com.:8080'), 'example.com');
  t.is(nameOfHost('[::1]:8080'), '[::1]');
  t.is(nameOfHost('[::1]'), '[::1]');
});

test('namesAbove() gives each name above, the nearest first', t => {
  t.deepEqual([...namesAbove('a.b.example.com')], ['b.example.com', 'example.com', 'com']);
  t.deepEqual([...namesAbove('localhost')], []);
});
