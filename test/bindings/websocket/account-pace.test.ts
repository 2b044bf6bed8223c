/** Which WebSockets of an account are read when. */
import test from 'ava';
import { AccountPace, type PacedSocket } from '../../../src/bindings/websocket/account-pace.js';

interface Socket extends PacedSocket {
  waitingBytes: number;
  isRead: boolean;
  recounted: number;
}

function sockets(pace: AccountPace, waiting: readonly number[]): Socket[] {
  return waiting.map(waitingBytes => {
    const socket: Socket = {
      waitingBytes,
      isRead: true,
      recounted: 0,
      pauseOrResume() {
        this.isRead = pace.mayRead(this);
      },
      recount() {
        this.recounted++;
      },
    };
    pace.add(socket);
    return socket;
  });
}

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
const AT_ONCE = { turn: () => undefined };

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('an account that has to wait waits with all sockets, and they go on one after the other', async t => {
  const pace = AccountPace.of({});
  const all = sockets(pace, [1, 0, 0, 1, 1]);
  const read = (): boolean[] => all.map(({ isRead }) => isRead);
  let pay = (): void => {};
  const debt = new Promise<void>(resolve => {
    pay = resolve;
  });
  pace.begins();
  pace.read({ turn: () => debt });
  t.deepEqual(read(), [false, false, false, false, false]);
  // Its turn is asked for once.
  pace.read({ turn: () => Promise.reject(new Error('asked again')) });
  await nextRound();
  t.deepEqual(read(), [false, false, false, false, false]);
  pay();
  await debt;
  await Promise.resolve();
  t.deepEqual(read(), [true, false, false, false, false]);
  await nextRound();
  t.deepEqual(read(), [true, true, true, true, false]);
  // What one of them had was too much: the last is the first that goes on.
  pace.read({ turn: () => nextRound() });
  t.deepEqual(read(), [false, false, false, false, false]);
  await nextRound();
  await nextRound();
  t.true(all[4]?.isRead);
  for (let round = 0; round < 5; round++) await nextRound();
  t.deepEqual(read(), [true, true, true, true, true]);
});

test('what has taken up a round of the event loop goes on in the next one, whoever else is at work', async t => {
  const pace = AccountPace.of({});
  const all = sockets(pace, [1, 1]);
  pace.begins();
  pace.read(AT_ONCE);
  t.true(all.every(({ isRead }) => isRead));
  busy(15);
  pace.read(AT_ONCE);
  t.true(all.every(({ isRead }) => !isRead));
  for (let round = 0; round < 4; round++) await nextRound();
  t.true(all.every(({ isRead }) => isRead));
});

test('what comes to a socket that is not read is counted, until it is read or gone', async t => {
  const owner = {};
  const pace = AccountPace.of(owner);
  t.is(AccountPace.of(owner), pace);
  const [one, two] = sockets(pace, [0, 0]) as [Socket, Socket];
  pace.paused(one);
  pace.paused(two);
  pace.resumed(two);
  while (one.recounted === 0) await nextRound();
  t.is(two.recounted, 0);
  pace.remove(one);
  t.false(process.getActiveResourcesInfo().filter(name => name === 'Timeout').length > 1);
});
