/** The option `limits` as types have it, and the table that it is checked by. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { KindOverrides, LimitOverrides } from '../../src/quotas/limit-overrides.js';
import { INVOCATION_KINDS, LIMIT_NAMES, type LimitName, limitRow } from '../../src/quotas/limits.js';
import { ROOT } from '../docs/markdown.js';

/** Compiles only where the keys of both are the same. */
const KEYS: Record<LimitName, true> extends Record<keyof Required<LimitOverrides>, true> ? LimitOverrides : never = {};

const text = readFileSync(join(ROOT, 'src/quotas/limit-overrides.ts'), 'utf8');

test('every limit has a text in the types, which names the code of its error', t => {
  t.deepEqual(KEYS, {});
  const described = new Map(
    [...text.matchAll(/^ {2}\/\*\* (.+) \*\/\n {2}readonly (\w+)\?: (.+);$/gm)].map(
      ([, doc = '', name = '', type = '']) => [name, { doc, type }],
    ),
  );
  for (const name of LIMIT_NAMES) {
    const { doc = '', type } = described.get(name) ?? {};
    const { code, by } = limitRow(name);
    t.true(doc.includes(code === null ? ' ' : `\`${code}\``), `${name}: ${doc}`);
    t.is(type, by === 'kind' ? 'number | KindOverrides' : 'number', name);
  }
  const others = [...described.keys()].filter(name => !LIMIT_NAMES.some(known => known === name));
  t.deepEqual(others, ['http', 'cron'] satisfies (keyof KindOverrides)[]);
  t.false(INVOCATION_KINDS.some(kind => others.includes(kind)));
});
