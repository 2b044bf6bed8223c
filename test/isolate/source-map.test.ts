import test from 'ava';
import { transform } from 'esbuild';
import { SourceMap } from '../../src/isolate/stacks/source-map.js';

const mapOf = (fields: object): SourceMap =>
  new SourceMap(JSON.stringify({ version: 3, sources: ['a.ts'], ...fields }));

test('find() answers with the last segment that begins at a column or before it', t => {
  // Columns 0, 4 and 8 of the first line come from lines 1, 2 and 3; the third line from line 4.
  const map = mapOf({ mappings: 'AAAA,IACA,IACA;;AACA' });
  t.deepEqual(map.find(0, 0), { source: 'a.ts', line: 0, column: 0 });
  t.deepEqual(map.find(0, 7), { source: 'a.ts', line: 1, column: 0 });
  t.deepEqual(map.find(0, 1000), { source: 'a.ts', line: 2, column: 0 });
  t.deepEqual(map.find(2, 3), { source: 'a.ts', line: 3, column: 0 });
});

test('find() answers nothing for places that the map does not tell of', t => {
  const map = mapOf({ mappings: 'IAAA,IAAA,I;;AAAA' });
  for (const [line, column] of [
    [0, 0],
    [0, 20],
    [1, 0],
    [3, 0],
    [-1, 0],
    [Number.POSITIVE_INFINITY, 0],
    [Number.NaN, Number.NaN],
  ] as const) {
    t.is(map.find(line, column), undefined, `${line}:${column}`);
  }
});

test('find() puts sourceRoot before the source', t => {
  t.is(mapOf({ mappings: 'AAAA', sourceRoot: 'lib/' }).find(0, 0)?.source, 'lib/a.ts');
});

test('find() finds each function of a minified bundle where it was written', async t => {
  const names = Array.from({ length: 50 }, (_, at) => `f${at}`);
  const source = names.map(name => `export function ${name}() {\n  return new Error("${name}");\n}\n`).join('\n');
  const { code, map } = await transform(source, { minify: true, sourcemap: true, sourcefile: 'all.js' });
  const found = new SourceMap(map);
  const [line] = code.split('\n');
  for (const [at, name] of names.entries()) {
    const column = line?.indexOf(`new Error("${name}")`) ?? -1;
    t.deepEqual(found.find(0, column), { source: 'all.js', line: 4 * at + 1, column: 9 }, name);
  }
});

for (const [what, json] of Object.entries({
  'is no object': '1',
  'has no mappings': '{"sources":[]}',
  'has no sources': '{"mappings":""}',
  'is in sections': '{"version":3,"sections":[]}',
  'has characters that are no digits': '{"sources":[],"mappings":"A!"}',
  'has characters that are no ASCII': '{"sources":[],"mappings":"A\u00e9"}',
  'has a number without end': '{"sources":[],"mappings":"g"}',
  'has a number without end before a comma': '{"sources":[],"mappings":"g,A"}',
  'has a number of more than 32 bits': '{"sources":[],"mappings":"ggggggggA"}',
  'has a segment of six numbers': '{"sources":[],"mappings":"AAAAAA"}',
})) {
  test(`new SourceMap() throws when the map ${what}`, t => {
    t.throws(() => new SourceMap(json));
  });
}

test('new SourceMap() throws when there are more segments or lines than are kept', t => {
  t.throws(() => mapOf({ mappings: ','.repeat(2 ** 20) }), { instanceOf: RangeError });
  t.throws(() => mapOf({ mappings: ';'.repeat(2 ** 20) }), { instanceOf: RangeError });
});

test('find() answers with none of what objects inherit when the map is made of it', t => {
  const map = new SourceMap(
    '{"__proto__":{"sources":["x"]},"sources":["__proto__",1,null,{}],"mappings":"AAAA,CCAA,CCAA,CCAA,CCAA"}',
  );
  t.is(map.find(0, 0)?.source, '__proto__');
  for (const column of [1, 2, 3, 4]) t.is(map.find(0, column), undefined);
});
