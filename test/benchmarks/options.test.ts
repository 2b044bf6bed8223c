import test from 'ava';
import { chooseBenchmarks, helpText, parseOptions } from '../../benchmarks/options.js';

const BENCHMARKS = [
  { name: 'http' },
  { name: 'dispatch', programs: ['call', 'wait'] },
  { name: 'peers', isOptional: true, programs: ['miniflare'] },
];

const chosen = (...args: readonly string[]): string[] => {
  const options = parseOptions(args, BENCHMARKS);
  return options === undefined ? [] : chooseBenchmarks(BENCHMARKS, options).map(({ name }) => name);
};

test('parseOptions() has a default for everything', t => {
  t.like(parseOptions([], BENCHMARKS), { only: undefined, rounds: 5, seconds: 2, peers: false, json: false });
});

test('parseOptions() is undefined when help is asked for', t => {
  t.is(parseOptions(['--help'], BENCHMARKS), undefined);
  t.is(parseOptions(['-h'], BENCHMARKS), undefined);
});

test('parseOptions() throws TypeError when an option or a benchmark is unknown', t => {
  t.throws(() => parseOptions(['--speed'], BENCHMARKS), { instanceOf: TypeError });
  t.throws(() => parseOptions(['--only', 'http,htp'], BENCHMARKS), {
    instanceOf: TypeError,
    message: /"htp", expected some of http,dispatch,peers/,
  });
});

test('parseOptions() takes programs of the benchmarks that are chosen', t => {
  t.is(parseOptions([], BENCHMARKS)?.programs, undefined);
  t.deepEqual(parseOptions(['--programs', 'wait, call'], BENCHMARKS)?.programs, ['wait', 'call']);
  t.throws(() => parseOptions(['--programs', 'miniflare'], BENCHMARKS), {
    instanceOf: TypeError,
    message: /--programs names "miniflare", expected some of call,wait/,
  });
  t.throws(() => parseOptions(['--only', 'http', '--programs', 'call'], BENCHMARKS), { instanceOf: TypeError });
});

for (const args of [
  ['--rounds', '0'],
  ['--rounds', '1.5'],
  ['--rounds', ''],
  ['--seconds', 'two'],
  ['--seconds', '0'],
]) {
  test(`parseOptions() throws RangeError for ${args.join(' ')}`, t => {
    t.throws(() => parseOptions(args, BENCHMARKS), {
      instanceOf: RangeError,
      message: new RegExp(`Option ${args[0]} is`),
    });
  });
}

test('chooseBenchmarks() takes all but the optional ones when none is named', t => {
  t.deepEqual(chosen(), ['http', 'dispatch']);
});

test('chooseBenchmarks() takes those that are named, in their own order', t => {
  t.deepEqual(chosen('--only', 'dispatch, http'), ['http', 'dispatch']);
  t.deepEqual(chosen('--only', 'peers'), ['peers']);
});

test('chooseBenchmarks() adds the peers when --peers is given', t => {
  t.deepEqual(chosen('--peers'), ['http', 'dispatch', 'peers']);
  t.deepEqual(chosen('--only', 'http', '--peers'), ['http', 'peers']);
});

test('helpText() names every option, benchmark and program', t => {
  const text = helpText([{ name: 'http', measures: 'Requests.', programs: ['call', 'wait'] }]);
  for (const option of [
    'only',
    'programs',
    'rounds',
    'seconds',
    'peers',
    'out',
    'json',
    'storage',
    'profile',
    'help',
  ]) {
    t.true(text.includes(`--${option}`));
  }
  t.regex(text, /http {2}Requests\./);
  t.regex(text, /Programs: call,wait/);
});
