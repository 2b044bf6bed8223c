/** What a cell prints: little of it is read, and its last words are. */
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { missingCompiler } from '../../../benchmarks/hijacked/compile-c.js';
import { CellLastWords } from '../../../src/pool/host/last-words.js';
import { printable } from '../../../src/pool/host/printable.js';
import { compileHostile, removeHostile, startHostile } from '../../attacks/hostile-process.js';
import { unlessMissing } from '../../needs.js';

const NEVER_MS = 1_000_000_000;
const PIECE = 64 * 1024;

/** Prints without end; reports how much of it was taken. */
function endless(): { readonly stream: Readable; taken(): number } {
  let taken = 0;
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      taken += PIECE;
      this.push(Buffer.alloc(PIECE, 'x'));
    },
  });
  return { stream, taken: () => taken };
}

test('LastWords reads 64 KiB of what is printed without end, and then leaves it alone', async t => {
  const { stream, taken } = endless();
  const words = new CellLastWords(stream, NEVER_MS);
  for (let turns = 0; turns < 50; turns++) await turn();
  t.true(taken() <= 3 * PIECE, `${taken()} bytes`);
  t.is(words.text.length, 16 * 1024);
  stream.destroy();
});

test('LastWords reads on after a rest', async t => {
  const stream = new PassThrough();
  const words = new CellLastWords(stream, 1);
  stream.write(Buffer.alloc(PIECE, 'x'));
  stream.write('FATAL ERROR: the end');
  while (!words.text.endsWith('the end')) await turn();
  t.pass();
});

test('readRest() reads what is in the pipe at the end of a process, and no more than a mebibyte', async t => {
  const stream = new PassThrough();
  const words = new CellLastWords(stream, NEVER_MS);
  stream.write(Buffer.alloc(PIECE, 'x'));
  for (let turns = 0; turns < 10; turns++) await turn();
  stream.end('FATAL ERROR: the end');
  t.false(words.text.includes('FATAL'));
  const closed = new Promise(resolve => stream.once('close', resolve));
  words.readRest();
  await closed;
  t.true(words.text.endsWith('FATAL ERROR: the end'));

  const { stream: more, taken } = endless();
  const last = new CellLastWords(more, NEVER_MS);
  const over = new Promise(resolve => more.once('close', resolve));
  last.readRest();
  await over;
  t.true(taken() <= 18 * PIECE, `${taken()} bytes`);
});

test('printable() leaves nothing in a text that a terminal or a log would act on', t => {
  t.is(printable('\u001b[2J\u0007red\u009b31m\r\nnext\u2028line\u202etxt\u0000'), '[2J red 31m next line txt');
  t.is(printable('FATAL ERROR: größer als 5'), 'FATAL ERROR: größer als 5');
});

const native = unlessMissing(missingCompiler());

native(`a cell that prints without end costs the host a read now and then`, async t => {
  const command = compileHostile();
  t.teardown(removeHostile);
  const cell = await startHostile(t, { command, args: ['print', '0', '0'] }, { sandbox: 'auto', cgroups: undefined });
  await cell.supervisor.acquire();
  const from = cell.polls();
  await new Promise<void>(resolve => {
    const look = (): void => (cell.polls() < from + 8 ? void setTimeout(look, 50) : resolve());
    look();
  });
  // In a second of reading as fast as it can be written it would be gigabytes.
  const read = cell.printed();
  t.true(read > PIECE && read < 16 * 1024 * 1024, `${read} bytes`);
});
