import test from 'ava';
import { SourcePlaces } from '../../src/isolate/stacks/source-places.js';

const START = { file: 'dist/out.js', line: 1, column: 1 };

/** The place that the start of dist/out.js comes from when its map names one source. */
function placeWith(source: string, map: object = {}): string {
  const json = JSON.stringify({ version: 3, sources: [source], mappings: 'AAAA', ...map });
  const texts = new Map([
    ['dist/out.js', '1;\n//# sourceMappingURL=out.js.map\n'],
    ['dist/out.js.map', json],
  ]);
  return new SourcePlaces(name => texts.get(name)).find(START).file;
}

test('find() names sources relative to the module', t => {
  t.is(placeWith('../src/a.ts'), 'src/a.ts');
  t.is(placeWith('a.ts'), 'dist/a.ts');
  t.is(placeWith('a.ts', { sourceRoot: '../lib' }), 'lib/a.ts');
  t.is(placeWith('webpack:///src/a.ts'), 'webpack:///src/a.ts');
});

test('find() takes out of names what would look like another frame', t => {
  t.is(placeWith('a.ts:1:1)\n    at root (/etc/passwd'), 'dist/a.ts:1:1__    at root _/etc/passwd');
  t.is(placeWith('\u001b[31ma\u2028b\u2029.ts'), 'dist/_[31ma_b_.ts');
});

test('find() bounds the length of names', t => {
  t.is(placeWith('a'.repeat(1_000_000)).length, 512);
  t.is(placeWith('a', { sourceRoot: 'b'.repeat(1_000_000) }).length, 512);
});

test('find() reads a map that is in the text of the module', t => {
  const json = JSON.stringify({ version: 3, sources: ['a.ts'], mappings: 'AAAA' });
  const url = `data:application/json;charset=utf-8;base64,${Buffer.from(json).toString('base64')}`;
  t.is(new SourcePlaces(() => `1;\n//# sourceMappingURL=${url}`).find(START).file, 'dist/a.ts');
});

test('find() takes for an annotation only what ends the text', t => {
  const texts = ['"//# sourceMappingURL=out.js.map" + 1', '//# sourceMappingURL=', '//# sourceMappingURL=\n1'];
  for (const text of texts) t.deepEqual(new SourcePlaces(() => text).find(START), START);
});

test('find() asks once for the map of a module, also when it is none', t => {
  let asked = 0;
  const places = new SourcePlaces(name => {
    asked++;
    return name === 'dist/out.js' ? '//# sourceMappingURL=out.js.map' : '{';
  });
  for (let at = 0; at < 3; at++) places.find(START);
  t.is(asked, 2);
});

test('find() wants maps to be at most 16 MiB', t => {
  const bounds: number[] = [];
  new SourcePlaces((name, maxBytes) => {
    bounds.push(maxBytes);
    return name === 'dist/out.js' ? '//# sourceMappingURL=out.js.map' : undefined;
  }).find(START);
  t.deepEqual(bounds, [Number.POSITIVE_INFINITY, 16 * 1024 * 1024]);
});

test('find() takes edits of the line into account that are before the column', t => {
  const places = new SourcePlaces(() => undefined);
  places.setEdits('a.js', [
    { line: 2, column: 30, moved: 10 },
    { line: 2, column: 60, moved: 20 },
    { line: 4, column: 15, moved: 5 },
  ]);
  const columnAt = (line: number, column: number): number => places.find({ file: 'a.js', line, column }).column;
  t.deepEqual(
    [columnAt(1, 90), columnAt(2, 29), columnAt(2, 30), columnAt(2, 60), columnAt(3, 90), columnAt(4, 15)],
    [90, 29, 20, 40, 90, 10],
  );
});
