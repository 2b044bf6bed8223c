/** Digests of `crypto.subtle` beside those of the standard, and the members of their algorithms. */
import { createHash } from 'node:crypto';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { handler, ISOLATIONS, type Isolation, newHost, textOf } from './new-host.js';

async function answer(t: ExecutionContext, isolation: Isolation, body: string): Promise<unknown> {
  const fn = await newHost(t, { isolation }).load(
    handler(`const digest = (algorithm, text = 'abc') => crypto.subtle.digest(algorithm, new TextEncoder().encode(text))
      .then(bytes => [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, '0')).join(''), error => error.name + ': ' + error.message);
      return Response.json(await (async () => { ${body} })());`),
  );
  return JSON.parse(await textOf(fn.fetch('http://x/')));
}

const isNode24 = Number.parseInt(process.versions.node, 10) >= 24;

for (const isolation of ISOLATIONS) {
  test(`digest() takes MD5, in any case and as an object (${isolation})`, async t => {
    const long = 'long '.repeat(100_000);
    const seen = await answer(
      t,
      isolation,
      `return [await digest('MD5'), await digest('md5', ''), await digest({ name: 'MD5' }, 'long '.repeat(100_000))];`,
    );
    t.deepEqual(
      seen,
      ['abc', '', long].map(text => createHash('md5').update(text).digest('hex')),
    );
  });

  test(`digest() refuses a member that a newer algorithm does not pass on, and ignores it otherwise (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `return [await digest({ name: 'cSHAKE128', outputLength: 256, other: 1 }), (await digest({ name: 'SHA-256', other: 1 })).length];`,
    );
    t.deepEqual(seen, [
      'NotSupportedError: The algorithm "cSHAKE128" has a member "other", which is not supported',
      64,
    ]);
  });

  (isNode24 ? test : test.skip)(`digest() of TurboSHAKE128 depends on domainSeparation (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const of = domainSeparation => digest({ name: 'TurboSHAKE128', outputLength: 256, domainSeparation }, ''); return [await of(1), await of(undefined), await of(0x1f)];`,
    );
    const [first, usual, same] = seen as string[]; // what the function above returns
    t.regex(first ?? '', /^[0-9a-f]{64}$/);
    t.not(first, usual);
    t.is(same, usual);
  });
}
