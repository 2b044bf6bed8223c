import test from 'ava';
import { type PriorityCalls, ThreadPriority } from '../../../src/pool/cell/thread-priority.js';

/** A system on which priorities may be raised again, or not. */
function system({ base = 0, mayRaise }: { base?: number; mayRaise: boolean }): PriorityCalls & { told: string[] } {
  let own = base;
  const told: string[] = [];
  return {
    told,
    get: () => base,
    set(thread, priority) {
      if (thread === 0) {
        if (priority < own && !mayRaise) throw new Error('EACCES');
        own = priority;
      } else told.push(`${thread} ${priority}`);
    },
  };
}

test('lower() and raise() move a thread away from the priority of its process and back', t => {
  const calls = system({ base: 2, mayRaise: true });
  const priority = new ThreadPriority(calls);
  priority.lower(71);
  priority.raise(71);
  t.deepEqual(calls.told, ['71 12', '71 2']);
});

test('lower() waits for longer and lowers by less where it is for good', t => {
  const calls = system({ mayRaise: false });
  const priority = new ThreadPriority(calls);
  t.true(priority.afterMs > new ThreadPriority(system({ mayRaise: true })).afterMs);
  priority.lower(71);
  priority.raise(71);
  t.deepEqual(calls.told, ['71 5']);
});

test('abandon() leaves a thread that was told to end the least that there is', t => {
  const calls = system({ mayRaise: false });
  new ThreadPriority(calls).abandon(71);
  t.deepEqual(calls.told, ['71 19']);
});

test('a thread whose number is not known is left alone: 0 would be the watchdog itself', t => {
  const calls = system({ mayRaise: true });
  const priority = new ThreadPriority(calls);
  priority.lower(0);
  priority.abandon(0);
  priority.lower(-1);
  t.deepEqual(calls.told, []);
});

test('a thread that is gone meanwhile is no error', t => {
  const calls = system({ mayRaise: true });
  const priority = new ThreadPriority({
    get: calls.get,
    set(thread, to) {
      if (thread !== 0) throw new Error('ESRCH');
      calls.set(thread, to);
    },
  });
  t.notThrows(() => priority.lower(71));
});
