/** Which answers of stateful objects wait for which writes. */
import test from 'ava';
import { beginWrite, type ObjectWrite, writeBefore } from '../../../src/host/invocation/object-writes.js';
import type { IsolateHandle } from '../../../src/pool/host/isolate-handle.js';

const A = { className: 'Room', id: 'a' };
const B = { className: 'Room', id: 'b' };

function newIsolate(): IsolateHandle {
  return {} as IsolateHandle; // nothing of it is looked at
}

function begun(isolate: IsolateHandle, { className, id }: typeof A, more: object = {}): ObjectWrite {
  const write = beginWrite(isolate, `write\n\n${JSON.stringify({ c: className, i: id, s: 1, q: 0, n: 0, ...more })}`);
  if (write === undefined) throw new TypeError('No write');
  return write;
}

function outcomeOf(write: ObjectWrite | undefined): { failure: string | undefined; isKnown: boolean } {
  const outcome: ReturnType<typeof outcomeOf> = { failure: undefined, isKnown: write === undefined };
  write?.whenSettled(failure => {
    outcome.failure = failure;
    outcome.isKnown = true;
  });
  return outcome;
}

test('an answer waits for the last write of its object that has come before it, and for no other', t => {
  const isolate = newIsolate();
  const first = begun(isolate, A);
  const waiting = outcomeOf(writeBefore(isolate, A));
  begun(isolate, B);
  begun(isolate, A);
  t.is(writeBefore(newIsolate(), A), undefined);
  t.false(waiting.isKnown);
  t.false(first.settle(undefined));
  t.deepEqual(waiting, { failure: undefined, isKnown: true });
  t.not(writeBefore(isolate, A), undefined);
});

test('what comes behind a write that has failed fails, until the isolate knows of it', t => {
  const isolate = newIsolate();
  const failed = begun(isolate, A);
  const next = begun(isolate, A);
  const waiting = outcomeOf(writeBefore(isolate, A));
  t.true(failed.settle('Error\nfull\n'));
  t.false(next.settle(undefined));
  t.is(waiting.failure, 'Error\nfull\n');
  t.is(outcomeOf(writeBefore(isolate, A)).failure, 'Error\nfull\n');
  failed.forget();
  t.is(writeBefore(isolate, A), undefined);
  // A write of the next instance is not forgotten with it.
  begun(isolate, A);
  failed.forget();
  t.not(writeBefore(isolate, A), undefined);
});

test('heads that no client of ours sends are no writes, and neither are those that no answer waits for', t => {
  const isolate = newIsolate();
  const heads = [
    '',
    'write',
    'write\n\n',
    'write\n\n{',
    'write\n\nnull',
    'write\n\n[]',
    'write\n\n{"c":1,"i":"a"}',
    'get\n\n{"c":"Room","i":"a"}',
  ];
  heads.push(
    `write\n\n{"c":"${'x'.repeat(600)}","i":"a".repeat(64)}`,
    `write\n\n{"c":"Room","i":"a","x":"${'x'.repeat(5000)}"}`,
  );
  heads.push('write\n\n{"c":"Room","i":"a","u":true}', `write\n\n{"c":"${'x'.repeat(600)}","i":"a"}`);
  for (const head of heads) t.is(beginWrite(isolate, head), undefined, head.slice(0, 40));
  t.is(writeBefore(isolate, A), undefined);
});
