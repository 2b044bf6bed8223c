/** Steps of removals whose application is gone. */
import test from 'ava';
import { localStore } from '../../../src/backend/local-store.js';
import { LeftRemovals, type RemovalHelper } from '../../../src/backend/server/left-removals.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { Storage } from '../../../src/storage/storage.js';

const STEP = { account: 'acme', deleteData: true };

interface Helper extends RemovalHelper {
  isGreeted: boolean;
  readonly taken: unknown[];
}

function helper(outcome: boolean | Error = true, isGreeted = true): Helper {
  const taken: unknown[] = [];
  return {
    isGreeted,
    taken,
    async takeRemoval(step) {
      taken.push(step);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  };
}

test('an application that is greeted takes the step; when it is gone the next one does', async t => {
  const helpers = [helper(true, false), helper(false), helper(true), helper(true)];
  await new LeftRemovals(() => helpers).beside(STEP);
  t.deepEqual(
    helpers.map(({ taken }) => taken),
    [[], [STEP], [STEP], []],
  );
});

test('without one the step waits for the first that comes', async t => {
  const late = helper(true, false);
  const helpers = [helper(false), late];
  const left = new LeftRemovals(() => helpers);
  const done = left.beside(STEP);
  await new Promise(resolve => setImmediate(resolve));
  left.changed();
  await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(late.taken, []);
  late.isGreeted = true;
  left.changed();
  await done;
  t.deepEqual(late.taken, [STEP]);
});

test('a step that fails fails the removal, and so does the end of the process', async t => {
  const failing = new LeftRemovals(() => [helper(new RangeError('not now'))]);
  await t.throwsAsync(failing.beside(STEP), { instanceOf: RangeError, message: 'not now' });
  const left = new LeftRemovals(() => []);
  const waits = left.beside(STEP);
  left.close();
  await t.throwsAsync(waits, { code: 'EDGE_CLOSED' });
  await t.throwsAsync(left.beside(STEP), { code: 'EDGE_CLOSED' });
});

test('a removal that a kill has interrupted goes on with the first application, and a later account of the id waits for it', async t => {
  const storage = await Storage.open(':memory:', { owners: [] });
  t.teardown(() => storage.close());
  const interrupted = storage.removeAccount('acme', {
    error: new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone'),
    deleteData: true,
    beside: async () => {
      throw new Error('killed');
    },
  });
  await t.throwsAsync(interrupted, { message: 'killed' });
  const helpers: Helper[] = [];
  const left = new LeftRemovals(() => helpers);
  await left.resume(localStore(storage));
  const ended = storage.context.sums.whenEnded('acme');
  t.not(ended, undefined);
  const one = helper();
  helpers.push(one);
  left.changed();
  await ended;
  t.deepEqual(one.taken, [STEP]);
  t.deepEqual(await storage.unfinishedRemovals(), []);
});
