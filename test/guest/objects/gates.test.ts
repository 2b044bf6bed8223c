/** The gates of an object: whatever waits for its writes waits for those before it, and not for those that follow. */
import test from 'ava';
import { guestModules, settled } from '../guest-modules.js';

interface Gates {
  readonly isOutputOpen: boolean;
  holdOutput(written: Promise<void>, sent?: Promise<void>): void;
  whenWritten(listener: () => void): void;
  whenSent(listener: () => void): void;
  break(): void;
}

interface Modules {
  'objects/gates': {
    Gates: new (onOpen: () => void, onBroken: (error: unknown) => void) => Gates;
    setHeldByHost(isHeld: boolean): void;
  };
}

const newRealm = await guestModules<Modules>('objects/gates');

function deferred() {
  let resolve = (): void => {};
  let reject = (_error: unknown): void => {};
  const promise = new Promise<void>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}

function opened(isHeldByHost: boolean) {
  const { Gates, setHeldByHost } = newRealm().modules['objects/gates'];
  setHeldByHost(isHeldByHost);
  const seen: string[] = [];
  const gates: Gates = new Gates(
    () => {},
    error => {
      seen.push(`broken by ${error}`);
      gates.break();
    },
  );
  const write = () => {
    const written = deferred();
    const sent = deferred();
    sent.promise.catch(() => {});
    gates.holdOutput(written.promise, sent.promise);
    return { written, sent };
  };
  return { gates, seen, write };
}

test('whenWritten() waits for the writes before it, though others follow all the time', async t => {
  const { gates, seen, write } = opened(false);
  const first = write();
  gates.whenWritten(() => seen.push('a'));
  const second = write();
  gates.whenWritten(() => seen.push('b'));
  const third = write();
  first.written.resolve();
  await settled();
  t.deepEqual(seen, ['a']);
  t.false(gates.isOutputOpen);
  second.written.resolve();
  await settled();
  t.deepEqual(seen, ['a', 'b']);
  third.written.resolve();
  await settled();
  t.true(gates.isOutputOpen);
});

test('whenWritten() calls its listeners in their order, whichever write ends first', async t => {
  const { gates, seen, write } = opened(false);
  const first = write();
  gates.whenWritten(() => seen.push('a'));
  const second = write();
  gates.whenWritten(() => seen.push('b'));
  second.written.resolve();
  await settled();
  t.deepEqual(seen, []);
  first.written.resolve();
  await settled();
  t.deepEqual(seen, ['a', 'b']);
});

test('whenSent() waits for the writes before it, though others are about to be sent', async t => {
  const { gates, seen, write } = opened(true);
  const first = write();
  gates.whenSent(() => seen.push('a'));
  const second = write();
  gates.whenSent(() => seen.push('b'));
  first.sent.resolve();
  await settled();
  t.deepEqual(seen, ['a']);
  second.sent.resolve();
  await settled();
  t.deepEqual(seen, ['a', 'b']);
});

test('a write that fails breaks the object before anything that waits for it, or for others, is called', async t => {
  for (const isHeldByHost of [false, true]) {
    const { gates, seen, write } = opened(isHeldByHost);
    const first = write();
    gates.whenWritten(() => seen.push('a'));
    write();
    gates.whenSent(() => seen.push('b'));
    first.sent.reject('a full disk');
    first.written.reject('a full disk');
    await settled();
    t.deepEqual(seen, ['broken by a full disk', 'a', 'b']);
    gates.whenWritten(() => seen.push('c'));
    t.is(seen.at(-1), 'c');
  }
});
