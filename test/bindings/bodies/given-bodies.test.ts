/** Bodies that the application has as streams: when their sources are cancelled. */
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { Collector } from '../../../src/bindings/bodies/collector.js';
import { type BodyPayer, GivenBodies } from '../../../src/bindings/bodies/given-bodies.js';
import type { GivenBodySource } from '../../../src/bindings/bodies/given-body.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

interface CountedSource extends GivenBodySource {
  cancelled: number;
}

function source(chunks: number, delayMs = 0): CountedSource {
  let left = chunks;
  return {
    cancelled: 0,
    async next() {
      await pause(delayMs);
      return left-- > 0 ? new Uint8Array([1, 2, 3]) : undefined;
    },
    cancel() {
      this.cancelled++;
    },
  };
}

function bodies(unreadMs: number, idleMs = Number.POSITIVE_INFINITY) {
  const warnings: Error[] = [];
  return { warnings, given: new GivenBodies({ unreadMs, idleMs, warn: error => warnings.push(error) }) };
}

async function until(holds: () => boolean): Promise<boolean> {
  for (let round = 0; round < 200 && !holds(); round++) {
    collect();
    await pause(10);
  }
  return holds();
}

test('give() cancels the source of a stream that was collected, and says nothing', async t => {
  const { given, warnings } = bodies(Number.POSITIVE_INFINITY);
  const payer: BodyPayer = { isCrowded: false, isFilling: false, unreadBodies: 0 };
  const from = source(3);
  (() => given.give('function "f"', from, payer))();
  t.is(payer.unreadBodies, 1);
  t.true(await until(() => from.cancelled === 1));
  t.is(payer.unreadBodies, 0);
  t.deepEqual(warnings, []);
});

test('give() keeps a body whose stream is collected while a chunk of it is awaited', async t => {
  const { given } = bodies(Number.POSITIVE_INFINITY);
  const from = source(1, 100);
  const chunk = given.give('function "f"', from).stream.getReader().read();
  collect();
  t.deepEqual(await chunk, { done: false, value: new Uint8Array([1, 2, 3]) });
});

test('give() cancels a body that nobody reads for unreadMs, and warns with the name and what to do', async t => {
  const { given, warnings } = bodies(40);
  const [one, two] = [source(3), source(3)];
  const first = given.give('function "f" of account "a"', one).stream;
  const second = given.give('function "f" of account "a"', two).stream;
  t.true(await until(() => one.cancelled + two.cancelled === 2));
  const error = await t.throwsAsync(first.getReader().read());
  t.is(Reflect.get(error, 'code'), 'EDGE_BODY_UNREAD');
  await t.throwsAsync(second.getReader().read(), { message: /a body of function "f" of account "a" for 40 ms/ });
  t.is(warnings.length, 1);
  t.regex(warnings[0]?.message ?? '', /2 bodies of function "f" of account "a" .*unreadMs.*: read or cancel the body/);
});

test('give() does not cancel a body that is read slowly, waited for, or in the hands of a reader', async t => {
  const { given, warnings } = bodies(60);
  const slowly = source(6);
  const { stream } = given.give('a', slowly);
  for (let chunk = 0; chunk < 6; chunk++) {
    const reader = stream.getReader();
    t.false((await reader.read()).done);
    reader.releaseLock();
    await pause(30);
  }
  const waitedFor = source(1, 200);
  t.false((await given.give('b', waitedFor).stream.getReader().read()).done);
  const locked = source(1);
  const reader = given.give('c', locked).stream.getReader();
  await pause(200);
  t.false((await reader.read()).done);
  t.deepEqual([slowly.cancelled > 1, waitedFor.cancelled, locked.cancelled], [false, 0, 0]);
  t.false(warnings.some(({ message }) => message.includes('of b') || message.includes('of c')));
});

test('give() cancels a body whose reader takes no more of it for idleMs', async t => {
  const { given, warnings } = bodies(Number.POSITIVE_INFINITY, 40);
  const from = source(3);
  const reader = given.give('function "f"', from).stream.getReader();
  await reader.read();
  t.true(await until(() => from.cancelled === 1));
  await t.throwsAsync(reader.read(), { message: /of function "f" for 40 ms/ });
  t.is(warnings.length, 1);
});

test('give() gives bodies a second while their account is refused new work', async t => {
  const { given, warnings } = bodies(3_600_000);
  const from = source(3);
  const payer: BodyPayer = { isCrowded: true, isFilling: true, unreadBodies: 0 };
  const { stream } = given.give('function "f"', from, payer);
  t.true((await until(() => from.cancelled === 1 || warnings.length > 0)) || (await until(() => from.cancelled === 1)));
  t.regex(warnings[0]?.message ?? '', /for 1000 ms .*while the account held so much that new work was refused/);
  await t.throwsAsync(stream.getReader().read());
});

test('keep() lets a body wait for as long as the application wants', async t => {
  const { given, warnings } = bodies(30);
  const from = source(1);
  const { stream, body } = given.give('function "f"', from);
  given.keep(body);
  await pause(100);
  t.false((await stream.getReader().read()).done);
  t.is(from.cancelled, 0);
  t.deepEqual(warnings, []);
});

test('give() asks for a collection while its account holds much, and more seldom while none of its bodies is collected', async t => {
  let asked = 0;
  let now = 0;
  const collector = new Collector(
    () => asked++,
    () => now,
  );
  const warn = (): void => {};
  const given = new GivenBodies(
    { unreadMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY, warn },
    collector,
  );
  const held: unknown[] = [];
  const give = (isFilling: boolean): void => {
    held.push(given.give('function "f"', source(1), { isCrowded: false, isFilling, unreadBodies: 0 }));
  };
  give(false);
  t.is(asked, 0);
  const asks: number[] = [];
  for (; now < 20_000; now += 100) {
    const before = asked;
    give(true);
    if (asked > before) asks.push(now);
  }
  t.deepEqual(asks, [0, 200, 600, 1400, 3000, 6200, 12_600]);
  collector.found();
  now += 100;
  give(true);
  t.is(asked, 7);
  now += 100;
  give(true);
  t.is(asked, 8);
});

test('a body that was collected makes the next collection come sooner', async t => {
  let found = 0;
  const collector = new Collector(() => {});
  collector.found = () => found++;
  const warn = (): void => {};
  const given = new GivenBodies(
    { unreadMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY, warn },
    collector,
  );
  const kept = given.give('function "f"', source(0));
  await kept.stream.cancel();
  (() => given.give('function "f"', source(1)))();
  t.true(await until(() => found > 0));
  t.is(found, 1);
});
