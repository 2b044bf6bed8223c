import test from 'ava';
import { KeptBody } from '../../../src/host/deploy/kept-body.js';

const SCRIPT = Buffer.from('export default { fetch() { return new Response("hello") } };\n'.repeat(400));
const RANDOM = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * at * 2654435761 + at) >>> 13));

function kept(bytes: Uint8Array): { readonly body: KeptBody; readonly charged: () => number } {
  let charged = 0;
  const share = { charge: (ms: number) => (charged += ms) };
  return { body: new KeptBody(bytes, share), charged: () => charged };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
}

test('a script is kept as it is until it was used, then compressed, and comes back whole', async t => {
  const { body, charged } = kept(SCRIPT);
  t.is(body.heldBytes, SCRIPT.length);
  t.deepEqual(await body.use(), SCRIPT);
  t.is(charged(), 0);
  body.release();
  await until(() => body.heldBytes < SCRIPT.length / 10);
  const forPacking = charged();
  t.true(forPacking > 0);
  t.deepEqual(Buffer.from(await body.use()), SCRIPT);
  t.true(charged() > forPacking);
  // Compressed once: what is held twice now is dropped at once the next time.
  body.release();
  t.true(body.heldBytes < SCRIPT.length / 10);
});

test('a script stays while somebody has it', async t => {
  const { body } = kept(SCRIPT);
  const [first] = await Promise.all([body.use(), body.use()]);
  body.release();
  t.is(await body.use(), first);
  body.release();
  body.release();
  await until(() => body.heldBytes < SCRIPT.length);
  t.pass();
});

test('one that is asked for while it is being compressed is there at once', async t => {
  const { body } = kept(SCRIPT);
  const bytes = await body.use();
  body.release();
  t.is(await body.use(), bytes);
});

for (const [name, bytes] of [
  ['long one, of which the work is done by a thread', Buffer.concat(Array.from({ length: 20 }, () => SCRIPT))],
  ['short one', Buffer.from('export default {};')],
  ['one that does not get shorter', RANDOM],
  ['empty one', Buffer.alloc(0)],
] as const) {
  test(`a script comes back whole: a ${name}`, async t => {
    const { body } = kept(bytes);
    for (let round = 0; round < 3; round++) {
      t.deepEqual(Buffer.from(await body.use()), bytes);
      body.release();
      await new Promise(resolve => setTimeout(resolve, 0));
    }
  });
}
