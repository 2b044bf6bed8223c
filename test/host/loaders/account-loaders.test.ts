/** The bounds of the code that an account has loaded: how much there is, what is forgotten for new code, and what the host counts for it. */
import test from 'ava';
import { AccountLoaders } from '../../../src/host/loaders/account-loaders.js';
import type { StartedCode, StartParts } from '../../../src/host/loaders/start-parts.js';
import { EdgeError } from '../../../src/quotas/errors.js';

const MEBIBYTE = 1024 * 1024;
/** What each is counted as, besides its bytes. */
const RECORD_BYTES = 8192;

const PARTS = {} as StartParts; // nothing reads it, as nothing is started

/** Has an isolate until it is retired. */
function started(): StartedCode {
  let isLive = true;
  const runner = {
    live: () => (isLive ? {} : undefined),
    retire: () => {
      isLive = false;
    },
  };
  const code: unknown = { runner, again: () => runner };
  return code as StartedCode; // as much of it as is used here
}

class Invocation {
  readonly #endings: (() => void)[] = [];

  whenOver(listener: () => void): void {
    this.#endings.push(listener);
  }

  end(): void {
    for (const listener of this.#endings.splice(0)) listener();
  }
}

interface Account {
  readonly loaders: AccountLoaders;
  /** The bytes that are counted now. */
  held(): number;
  /** Loads so many by invocations of up to 32 each, which it returns. */
  fill(count: number, loader?: string): Promise<Invocation[]>;
}

function newAccount(): Account {
  let held = 0;
  const count = (bytes: number): void => {
    held += bytes;
  };
  const loaders = new AccountLoaders('acme', { bytes: { countHeap: count } });
  loaders.start = async () => started();
  let serial = 0;
  return {
    loaders,
    held: () => held,
    async fill(total, loader = 'agent/LOADER') {
      const invocations: Invocation[] = [];
      for (let i = 0; i < total; i++) {
        if (i % 32 === 0) invocations.push(new Invocation());
        const invocation = invocations.at(-1) ?? new Invocation();
        const number = loaders.load({ loader, id: `id-${serial++}`, bytes: 100, parts: PARTS }, invocation);
        await loaders.find(number, invocation).ready;
      }
      return invocations;
    },
  };
}

const another = { loader: 'agent/LOADER', id: null, bytes: 100, parts: PARTS };

test('load() refuses the 33rd function of one invocation', async t => {
  const { loaders, fill } = newAccount();
  const [invocation = new Invocation()] = await fill(32);
  const error = t.throws(() => loaders.load(another, invocation), { instanceOf: EdgeError });
  t.is(error.code, 'EDGE_OVERLOADED');
  t.is(error.message, 'Cannot load code: the invocation has loaded 32 functions, at most 32 are allowed');
  t.is(loaders.size, 32);
});

test('load() refuses the 101st function of a loader while all are in use, and not one of another loader', async t => {
  const { loaders, fill } = newAccount();
  await fill(100);
  const error = t.throws(() => loaders.load(another, new Invocation()), { instanceOf: EdgeError });
  t.is(error.code, 'EDGE_OVERLOADED');
  t.regex(error.message, /^Cannot load code in account "acme": 100 functions of the loader are in use/);
  t.notThrows(() => loaders.load({ ...another, loader: 'other/LOADER' }, new Invocation()));
});

test('load() refuses the 201st function of an account while all are in use', async t => {
  const { loaders, fill } = newAccount();
  await fill(100, 'a/LOADER');
  await fill(100, 'b/LOADER');
  const error = t.throws(() => loaders.load(another, new Invocation()), { instanceOf: EdgeError });
  t.is(error.code, 'EDGE_OVERLOADED');
  t.regex(error.message, /: 200 loaded functions are in use, as many as the account may have$/);
});

test('load() forgets the least recently used function that no invocation uses', async t => {
  const { loaders, fill } = newAccount();
  const invocations = await fill(100);
  for (const invocation of invocations) invocation.end();
  const user = new Invocation();
  t.not(loaders.open('agent/LOADER', 'id-0', user), undefined);
  user.end();
  loaders.load(another, new Invocation());
  t.is(loaders.size, 100);
  t.not(loaders.open('agent/LOADER', 'id-0', new Invocation()), undefined);
  t.is(loaders.open('agent/LOADER', 'id-1', new Invocation()), undefined);
});

test('load() refuses more than 32 MiB of code that is in use, and counts each byte until it is forgotten', async t => {
  const { loaders, held } = newAccount();
  const big = { ...another, bytes: 16 * MEBIBYTE - RECORD_BYTES };
  const invocation = new Invocation();
  for (let i = 0; i < 2; i++) await loaders.find(loaders.load(big, invocation), invocation).ready;
  t.is(held(), 32 * MEBIBYTE);
  const error = t.throws(() => loaders.load({ ...another, bytes: 0 }, new Invocation()), { instanceOf: EdgeError });
  t.is(error.code, 'EDGE_OVERLOADED');
  t.regex(error.message, /more than the 33554432 bytes that the account may have$/);
  // Code without an id belongs to its invocation.
  invocation.end();
  t.is(loaders.size, 0);
  t.is(held(), 0);
});

test('close() ends all loaded functions, counts nothing more, and refuses others', async t => {
  const { loaders, fill, held } = newAccount();
  await fill(40);
  t.is(held(), 40 * (100 + RECORD_BYTES));
  loaders.close(new EdgeError('EDGE_ACCOUNT_REMOVED', 'The account is removed'));
  t.is(loaders.size, 0);
  t.is(held(), 0);
  const error = t.throws(() => loaders.load(another, new Invocation()), { instanceOf: EdgeError });
  t.is(error.code, 'EDGE_ACCOUNT_REMOVED');
});
