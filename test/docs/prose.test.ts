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

function findings(t: ExecutionContext, text?: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-prose-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'page.md');
  if (text !== undefined) writeFileSync(file, text);
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...(text === undefined ? [] : [file])], {
    encoding: 'utf8',
  });
  const found = stderr.split('\n').slice(0, -1);
  t.is(status, found.length > 0 ? 1 : 0, stderr);
  return found.map(line => line.replace(`${file}:`, ''));
}

test('the documents that check-prose.mjs lists keep its rules', t => {
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
