import test from 'ava';
import { globMatcher } from '../../../src/host/deploy/glob.js';

for (const [glob, matching, others] of [
  ['*.sql', ['a.sql', 'b/c/a.sql', '.sql'], ['a.sqlx', 'a.sql/b']],
  ['data/*.bin', ['data/a.bin', 'data/.bin'], ['a.bin', 'data/b/a.bin', 'other/data/a.bin']],
  ['**/*.md', ['a.md', 'b/a.md', 'b/c/a.md'], ['a.mdx', 'a.md/b']],
  ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb', 'a/b/c']],
  ['a/**', ['a/', 'a/b', 'a/b/c'], ['a', 'ba/c']],
  ['**a/b', ['a/b', 'x/ya/b'], ['b', 'x/y/b']],
  ['?.js', ['a.js', 'b/a.js'], ['.js', 'ab.js']],
  ['x/?', ['x/a'], ['x/', 'x//', 'x/ab']],
  ['a.b', ['a.b'], ['axb']],
  ['[a]+(b)|^$\\', ['[a]+(b)|^$\\'], ['a', '']],
] as const) {
  test(`globMatcher() takes ${glob} for what the documentation says`, t => {
    const matches = globMatcher(glob);
    t.deepEqual(
      matching.filter(name => !matches(name)),
      [],
    );
    t.deepEqual(
      others.filter(name => matches(name)),
      [],
    );
  });
}

for (const part of ['*a', '**a', '**/']) {
  test(`globMatcher() comes to an end however many ${part} a customer writes`, t => {
    const matches = globMatcher(`${part.repeat(100)}b`);
    t.false(matches(part === '**/' ? 'a/'.repeat(100) : 'a'.repeat(200)));
    t.true(matches(part === '**/' ? `${'a/'.repeat(100)}b` : `${'a'.repeat(200)}b`));
  });
}
