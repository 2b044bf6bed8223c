/** The rules of .scripts/check-prose.mjs, each with a text that breaks it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from './markdown.js';

const SCRIPT = join(ROOT, '.scripts/check-prose.mjs');
const words = (count: number): string => Array(count).fill('word').join(' ');

function findings(t: ExecutionContext, text?: string, name = 'page.md'): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-prose-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  if (text !== undefined) writeFileSync(file, text);
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...(text === undefined ? [] : [file])], {
    encoding: 'utf8',
  });
  const found = stderr.split('\n').slice(0, -1);
  t.is(status, found.length > 0 ? 1 : 0, stderr);
  return found.map(line => line.replace(`${file}:`, ''));
}

test('the documents that check-prose.mjs lists and the sources keep its rules', t => {
  t.deepEqual(findings(t), []);
});

test('check-prose.mjs names the line and the rule when a text breaks one', t => {
  const text = [
    '# What is a heading',
    '',
    `A ${words(12)}`,
    `${words(13)}.`,
    '',
    '- Of the heap nothing is left.',
    '- The queue holds what waits.',
    '',
    '| cell |',
    '| ---- |',
    '| Who calls it: the caller. |',
    '',
    `${words(25)}; ${'x'.repeat(121)}`,
  ].join('\n');
  t.deepEqual(findings(t, text), [
    `3: 26 words, at most 25 are allowed: ${`A ${words(12)}`.slice(0, 60)}`,
    '6: begin with the subject: Of the heap nothing is left.',
    '7: "what waits", better: name the thing or the person: The queue holds what waits.',
    '11: begin with the subject: Who calls it',
    '11: "Who calls", better: name the thing or the person: Who calls it',
    '13: the line has 247 characters, at most 120 are allowed',
  ]);
});

test('check-prose.mjs leaves out code, quotations and links', t => {
  const text = [
    `One \`${words(30)}\` and [a link](https://example.com/${'x'.repeat(30)}) are two words.`,
    '',
    '```js',
    `// Of what waits ${'x'.repeat(121)}`,
    '```',
    '',
    'The word list has "what waits".',
    '',
    '<!-- before',
    `const what = waits; // ${'x'.repeat(121)}`,
    '-->',
  ].join('\n');
  t.deepEqual(
    findings(t, text).filter(line => !line.startsWith('1: the line has')),
    [],
  );
});

test('check-prose.mjs names the line and the rule when a comment breaks one', t => {
  const text = [
    `/** Of the caller. A file is kept ${words(26)} so long as it is dear. */`,
    'const first = 1; // made again later',
    '',
    '/**',
    ' * One paragraph.',
    ' *',
    ' * Its second, see no-such-file.ts and service.ts. Calls',
    ' * under way fail.',
    ' */',
    '// A line,',
    '// and those of others.',
    '//',
    `// ${'x'.repeat(158)}`,
  ].join('\n');
  const found = findings(t, text, 'source.ts').map(line => line.replace(/\d+ files/, 'several files'));
  t.deepEqual(found, [
    '1: begin with the subject: Of the caller.',
    `1: 36 words, at most 30 are allowed: ${`A file is kept ${words(26)}`.slice(0, 60)}`,
    `1: "so long as", better: while, this long, this many: ${`A file is kept ${words(26)}`.slice(0, 60)}`,
    `1: "dear", better: expensive: ${`A file is kept ${words(26)}`.slice(0, 60)}`,
    '1: the line has 189 characters, at most 160 are allowed',
    '2: "made again", better: retried: made again later',
    '7: "under way", better: in flight, open: Calls under way fail.',
    '4: no file is named no-such-file.ts',
    '4: several files are named service.ts: add the folder',
    '10: "those of", better: repeat the noun: A line, and those of others.',
    '13: the line has 161 characters, at most 160 are allowed',
  ]);
});

test('check-prose.mjs names the line and the rule when a message breaks one', t => {
  const text = [
    "throw new EdgeError('EDGE_X', `Who is $" + '{name} is not known`);',
    "limitError({ subject: () => 'what waits is', name: 'those of' });",
    "const error = fail(1, 'call' + ' was made again');",
  ].join('\n');
  t.deepEqual(findings(t, text, 'source.ts'), [
    '1: begin with the subject: Who is CODE is not known',
    '1: "Who is", better: name the thing or the person: Who is CODE is not known',
    '2: "what waits", better: name the thing or the person: what waits is',
    '2: "those of", better: repeat the noun: those of',
    '3: "made again", better: retried:  was made again',
  ]);
});

test('check-prose.mjs leaves out texts that are no messages, comments for tools and code in comments', t => {
  const text = [
    "const held = ['// those of', `$" +
      "{/[/*]/u.test(text) ? `/* under way */` : 1} // made again`, 1 / 2, 'those of'];",
    '// biome-ignore lint/style: those of',
    '/** Uses `what waits` and "under way". Is it what he meant? */',
    '/**',
    ' * ```ts',
    ' * const dear = 1; // those of',
    ' * ```',
    ' */',
  ].join('\n');
  t.deepEqual(findings(t, text, 'source.ts'), []);
});
