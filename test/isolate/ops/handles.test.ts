import test from 'ava';
import { OpError } from '../../../src/isolate/ops/arguments.js';
import { Handles } from '../../../src/isolate/ops/handles.js';

test('Handles.add() refuses more than there may be, until one is deleted', t => {
  const handles = new Handles<string>('thing', 2);
  const first = handles.add('a');
  handles.add('b');
  const error = t.throws(() => handles.add('c'), { any: true });
  t.true(error instanceof OpError && error.message.includes('More than 2 things'));
  handles.delete(first);
  t.is(handles.get(handles.add('c')), 'c');
});

for (const id of [undefined, 0, 99, 1.5, Number.NaN, '1', {}]) {
  test(`Handles.get() refuses ${typeof id} ${String(id)}`, t => {
    const handles = new Handles<string>('thing', 2);
    handles.add('a');
    const error = t.throws(() => handles.get(id), { any: true });
    t.true(error instanceof OpError && error.name === 'InvalidStateError');
  });
}

test('Handles.add() refuses a token that is no byte array', t => {
  const error = t.throws(() => new Handles<string>('thing', 2).add('a', {}), { any: true });
  t.true(error instanceof OpError && error.name === 'TypeError');
});
