/** Which calls others may go on by: those of the same invocation that are under way. */
import test from 'ava';
import { OpenResults } from '../../../src/host/invocation/open-results.js';

const callee = (isOver = false) => ({ isOver });

test('a call is found by its number for as long as it is open, and no other is', t => {
  const results = new OpenResults<{ isOver: boolean }>();
  const result = results.open(1);
  t.is(results.find(1), result);
  t.is(results.find(2), undefined);
  t.throws(() => results.open(1), { instanceOf: TypeError }); // it would take the place of one that others wait for
  result.close();
  result.close();
  t.is(results.find(1), undefined);
  const again = results.open(1);
  result.close();
  t.is(results.find(1), again);
});

test('who goes on by a call that has not begun waits for its invocation, in order', async t => {
  const result = new OpenResults<{ isOver: boolean }>().open(1);
  const seen: number[] = [];
  const waiting = [1, 2, 3].map(async number => {
    const peer = await result.callee();
    seen.push(number);
    return peer;
  });
  const peer = callee();
  result.begun(peer);
  t.deepEqual(await Promise.all(waiting), [peer, peer, peer]);
  t.deepEqual(seen, [1, 2, 3]);
  t.is(await result.callee(), peer);
});

test('there is none for a call that fails before it begins, and for one that is over', async t => {
  const results = new OpenResults<{ isOver: boolean }>();
  const failed = results.open(1);
  const waiting = failed.callee();
  failed.close();
  t.is(await waiting, undefined);
  t.is(await failed.callee(), undefined);
  const over = results.open(2);
  over.begun(callee(true));
  t.is(await over.callee(), undefined);
});
