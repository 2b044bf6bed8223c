/**
 * Compares what values were counted as before they were decoded with what they take of the heap then. Prints one line of JSON for each shape: the shape, the
 * bytes counted, and the bytes taken. To be run with --expose-gc.
 */
import { getHeapStatistics } from 'node:v8';
import fc from 'fast-check';
import { decodeValue } from '../../../../src/bindings/callbacks/decode.js';
import { heapBytesOfValue } from '../../../../src/bindings/callbacks/value-bytes.js';

/** A value in its encoded form; `i` is another number for each. */
interface Shape {
  readonly name: string;
  /** Whether V8 keeps parts of several values once. */
  readonly isShared: boolean;
  readonly objects: number;
  readonly values: number;
  readonly make: (i: number) => unknown;
}

const MAX_OBJECTS = 3_000;
const MAX_VALUES = 30_000;

function shape(name: string, objects: number, values: number, make: Shape['make'], isShared = false): Shape {
  return { name, objects, values, make, isShared };
}

/** A text of so many characters that no other value has. */
function textOf(i: number, length: number, letter: string): string {
  return `${i}`.padEnd(length, letter);
}

const text = fc
  .record({ length: fc.integer({ min: 12, max: 400 }), letter: fc.constantFrom('a', 'é', '你', '😀'.charAt(0)) })
  .map(({ length, letter }) => shape(`text of ${length} ${letter}`, 0, 1, i => textOf(i, length, letter)));

const leaf = fc.oneof(
  text,
  fc.constant(shape('short text', 0, 1, () => 'abc', true)),
  fc.constant(shape('fraction', 0, 1, i => i + 0.5)),
  fc.constant(shape('large integer', 0, 1, i => 2 ** 40 + i)),
  fc.constant(shape('date', 1, 1, i => ['d', i])),
  fc.integer({ min: 8, max: 600 }).map(digits => shape(`BigInt of ${digits}`, 1, 1, () => ['i', 'f'.repeat(digits)])),
  fc
    .integer({ min: 0, max: 300 })
    .map(length => shape(`error of ${length}`, 1, 1, i => ['e', `Error${i}`, textOf(i, length + 8, 'm')])),
  fc.constantFrom(['o'], ['a']).map(empty => shape(`empty ${empty[0]}`, 1, 1, () => empty)),
);

type Names = (i: number, at: number, count: number) => string;

const NAMES: Readonly<Record<string, { readonly of: Names; readonly isShared: boolean }>> = {
  'one name for all': { of: (_i, at) => `name${at}`, isShared: true },
  'names of its own': { of: (i, at) => `n${i}x${at}`, isShared: false },
  // Node 26 keeps long names as parts of the text that they were parsed from.
  'long names': { of: (i, at) => textOf(i, 200, `${at}`), isShared: true },
  'names in another order': { of: (i, at, count) => `p${(i * 7919 + at * ((i % count) + 1)) % 997}`, isShared: true },
  'indexes without holes': { of: (_i, at) => `${at}`, isShared: true },
  'indexes with holes': { of: (_i, at) => `${1023 + at * 1477}`, isShared: true },
  'small indexes with holes': { of: (_i, at) => `${at * 3 + 1}`, isShared: true },
  'the largest indexes': { of: (_i, at) => `${2 ** 32 - 2 - at}`, isShared: true },
  'indexes that are too large': { of: (i, at) => `${2 ** 32 + i * 100 + at}`, isShared: false },
};

function objectOf(names: string, count: number, inner: Shape): Shape {
  const { of = () => '', isShared = true } = NAMES[names] ?? {};
  return shape(
    `{ ${count} ${names}: ${inner.name} }`,
    1 + count * inner.objects,
    1 + count * inner.values,
    i => {
      const properties = Array.from({ length: count }, (_, at) => [of(i, at, count), inner.make(i * count + at)]);
      return ['o', ...[...new Map(properties as [string, unknown][])].flat()]; // pairs, made above
    },
    isShared || inner.isShared,
  );
}

function listOf(count: number, inner: Shape): Shape {
  return shape(
    `[${count} ${inner.name}]`,
    1 + count * inner.objects,
    1 + count * inner.values,
    i => ['a', ...Array.from({ length: count }, (_, at) => inner.make(i * count + at))],
    inner.isShared,
  );
}

function setOf(count: number): Shape {
  return shape(`Set(${count})`, 1, 1 + count, i => [
    's',
    ...Array.from({ length: count }, (_, at) => `item ${i * count + at} item`),
  ]);
}

function mapOf(count: number, inner: Shape): Shape {
  return shape(
    `Map(${count} ${inner.name})`,
    1 + count * inner.objects,
    1 + count * (inner.values + 1),
    i => [
      'm',
      ...Array.from({ length: count }, (_, at) => [`key ${i * count + at} key`, inner.make(i * count + at)]).flat(),
    ],
    inner.isShared,
  );
}

const counts = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 7, max: 40 }));

function around(inner: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  return fc.oneof(
    fc
      .tuple(fc.constantFrom(...Object.keys(NAMES)), counts, inner)
      .map(([names, count, item]) => objectOf(names, count, item)),
    fc.tuple(counts, inner).map(([count, item]) => listOf(count, item)),
    counts.map(setOf),
    fc.tuple(counts, inner).map(([count, item]) => mapOf(count, item)),
  );
}

const shapes = fc
  .oneof(leaf, around(leaf), around(around(leaf)))
  .filter(({ objects, values }) => objects <= MAX_OBJECTS / 20 && values <= MAX_VALUES / 20);

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return getHeapStatistics().used_heap_size;
}

// In functions of their own, whose frames refer to what was parsed no longer when the heap is measured.
function countOf(json: string): number {
  return heapBytesOfValue(JSON.parse(json));
}

function decoded(json: string): unknown {
  return decodeValue(JSON.parse(json), { bytes: [], stream: undefined });
}

function measure({ name, isShared, objects, values, make }: Shape, attempts = 5): void {
  const count = Math.floor(Math.min(MAX_OBJECTS / Math.max(1, objects), MAX_VALUES / values));
  const json = JSON.stringify(['a', ...Array.from({ length: count }, (_, i) => make(i))]);
  const counted = countOf(json);
  const before = heap();
  const value = decoded(json);
  const taken = heap() - before;
  if (!Array.isArray(value) || value.length !== count) throw new Error('It is not what was encoded');
  // Something else was freed meanwhile, such as code that was not used for long.
  if (taken < counted / 4 && !isShared && attempts > 1)
    measure({ name, isShared, objects, values, make }, attempts - 1);
  else console.log(JSON.stringify({ name, isShared, count, counted, taken }));
}

const seed = Number(process.argv[2] ?? Date.now() % 2 ** 31);
// What is compiled and kept on first use is none of the values.
for (const one of fc.sample(shapes, { seed: 1, numRuns: 20 }))
  JSON.stringify(decodeValue(one.make(1), { bytes: [], stream: undefined }) !== undefined);
for (const names of Object.keys(NAMES))
  for (const count of [1, 2, 30])
    measure(
      objectOf(
        names,
        count,
        shape('integer', 0, 1, i => i % 100),
      ),
    );
for (const one of fc.sample(shapes, { seed, numRuns: Number(process.argv[3] ?? 60) })) measure(one);
