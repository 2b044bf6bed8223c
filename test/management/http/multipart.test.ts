import test from 'ava';
import fc from 'fast-check';
import { readParts } from '../../../src/management/http/multipart.js';
import { Slices } from '../../../src/management/http/slices.js';
import { countedWork } from '../../bindings/counted-work.js';

const TYPE = 'multipart/form-data; boundary=x';

async function read(text: string, contentType = TYPE, maxParts = 10) {
  return readParts(new Uint8Array(Buffer.from(text)), contentType, maxParts, new Slices(undefined));
}

/** Names without line breaks, some of which browsers write otherwise. */
const lineless = fc.string({ minLength: 1 }).filter(text => !/[\r\n]/.test(text));

test('readParts() reads what FormData writes', async t => {
  const part = fc.record({ name: lineless, bytes: fc.uint8Array(), isFile: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 10 }), async parts => {
      const form = new FormData();
      for (const { name, bytes, isFile } of parts) {
        if (isFile) form.append(name, new File([bytes], 'a"b.js', { type: 'text/plain' }));
        else form.append(name, Buffer.from(bytes).toString('hex'));
      }
      const response = new Response(form);
      const type = response.headers.get('content-type') ?? '';
      const body = new Uint8Array(await response.arrayBuffer());
      const found = await readParts(body, type, 10, new Slices(undefined));
      const wanted = parts.map(({ name, bytes, isFile }) => [name, isFile, Buffer.from(bytes).toString('hex')]);
      const got = found.map(one => [
        one.name,
        one.isFile,
        Buffer.from(one.bytes).toString(one.isFile ? 'hex' : 'utf8'),
      ]);
      if (JSON.stringify(got) !== JSON.stringify(wanted))
        throw new Error(`${JSON.stringify(got)} is not ${JSON.stringify(wanted)}`);
    }),
    { numRuns: 100 },
  );
  t.pass();
});

const HEAD = 'Content-Disposition: form-data; name="a"';

for (const [what, text, message, type] of [
  ['more parts than are allowed', `--x\r\n${HEAD}\r\n\r\n1\r\n`.repeat(11), /more than 10 parts/],
  ['a head that is too long', `--x\r\n${HEAD}${'a'.repeat(5000)}\r\n\r\n1\r\n--x--`, /have no end within 4096 bytes/],
  ['no name', '--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--', /a part has no name/],
  ['no disposition', '--x\r\nContent-Type: text\r\n\r\n1\r\n--x--', /not form-data/],
  ['no end', `--x\r\n${HEAD}\r\n\r\n${'\r\n--'.repeat(200_000)}`, /the closing boundary is missing/],
  ['no boundary', `--x--`, /its content type has no boundary/, 'multipart/form-data'],
  ['another boundary', `--y--`, /a boundary is missing/],
] as const) {
  test(`readParts() refuses a body with ${what}`, async t => {
    const error = await t.throwsAsync(read(text, type), { message });
    t.like(error, { code: 'UPLOAD_INVALID' });
  });
}

test('readParts() finds a boundary wherever it stands', async t => {
  for (const length of [0, 1, 256 * 1024 - 3, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 600_000]) {
    const [part] = await read(`--x\r\n${HEAD}\r\n\r\n${'y'.repeat(length)}\r\n--x--\r\n`);
    t.is(part?.bytes.length, length);
  }
});

test('readParts() is charged to the account and waits for its turn', async t => {
  const work = countedWork();
  const slices = new Slices(work);
  while (slices.pause() === undefined); // the slice is over
  work.hold();
  const reading = readParts(new Uint8Array(Buffer.from(`--x\r\n${HEAD}\r\n\r\n1\r\n--x--`)), TYPE, 10, slices);
  while (work.held === 0) await new Promise(setImmediate);
  t.true(work.spentMs >= 2);
  work.go();
  t.is((await reading).length, 1);
});
