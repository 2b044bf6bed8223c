import { readFile } from 'node:fs/promises';
import test from 'ava';
import { OPERATIONS } from '../../src/s3/operations.js';
import { S3_ERRORS } from '../../src/s3/wire/errors.js';

const DOCS = new URL('../../../docs/s3.md', import.meta.url);

async function rows(heading: string): Promise<string[][]> {
  const text = await readFile(DOCS, 'utf8');
  const section = text.split(/^## /m).find(part => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter(line => line.startsWith('| '));
  return lines
    .slice(1)
    .filter(line => !/^[| -]+$/.test(line))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    );
}

test('docs/s3.md lists the operations with their query parameters', async t => {
  const listed = (await rows('Operations')).map(([name, query = '']) => [name, query.match(/[\w*-]+/g) ?? []]);
  const actual = Object.entries(OPERATIONS).map(([name, { query = [] }]) => [
    name,
    [...new Set(query.map(parameter => parameter.replace(/^response-.*/, 'response-*')))],
  ]);
  t.deepEqual(listed, actual);
});

test('docs/s3.md lists the errors', async t => {
  const actual = Object.entries(S3_ERRORS).map(([code, { status, text }]) => [`\`${code}\``, String(status), text]);
  t.deepEqual(await rows('Errors'), actual);
});
