/** Which answers of stateful objects wait for which writes. */
import test from 'ava';
import { beginStep, type ObjectWrite, writeBefore } from '../../../src/host/invocation/object-writes.js';
import type { IsolateHandle } from '../../../src/pool/host/isolate-handle.js';

const A = { className: 'Room', id: 'a' };
const B = { className: 'Room', id: 'b' };

function newIsolate(): IsolateHandle {
  return {} as IsolateHandle; // nothing of it is looked at
}

function begun(isolate: IsolateHandle, object: typeof A): ObjectWrite {
  const write = beginStep(isolate, { ...object, isNew: false });
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

test('an answer of a new instance waits for no write of the one before, even when it has failed', t => {
  const isolate = newIsolate();
  begun(isolate, A).settle('Error\nfull\n');
  begun(isolate, B);
  t.is(beginStep(isolate, { ...A, isNew: true }), undefined);
  t.is(writeBefore(isolate, A), undefined);
  t.not(writeBefore(isolate, B), undefined);
});

test('a name that no class can have is not remembered', t => {
  const isolate = newIsolate();
  t.is(beginStep(isolate, { className: 'x'.repeat(600), id: 'a', isNew: false }), undefined);
  t.is(beginStep(isolate, { className: 'x'.repeat(600), id: 'a', isNew: true }), undefined);
});
