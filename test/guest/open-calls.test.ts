/** Calls of services that are open: who hears of an answer, and who does not any more. */
import test from 'ava';
import { BODY_NONE, Ev, Op } from '../../src/isolate/ops/table.js';
import { type GuestModules, guestModules, OpFailure } from './guest-modules.js';

interface Body {
  readonly exchange: number;
  readonly size: number;
  readonly isComplete: boolean;
}

interface Reply {
  onReply(head: string, body: Body | null): void;
  onFailed(makeError: () => Error): void;
}

interface Call {
  readonly exchange: number;
  abort(): void;
}

interface Modules {
  'open-calls': {
    openCall(op: Op, service: number, head: string, body: string | undefined, reply: Reply): Call;
    dropCall(exchange: number): void;
  };
}

const newRealm = await guestModules<Modules>('open-calls');

const SERVICE = 1;

interface Opened extends GuestModules<Modules> {
  readonly call: Call;
  /** What the caller was given. */
  readonly heard: unknown[];
}

/** A realm with one open call, on exchange 7. */
function opened(): Opened {
  const realm = newRealm();
  realm.answer(Op.Call, () => 7);
  const heard: unknown[] = [];
  const call = realm.modules['open-calls'].openCall(Op.Call, SERVICE, 'get\nFILES\n{}', undefined, {
    onReply: (head, body) => heard.push(head, body === null ? null : body.size),
    onFailed: makeError => heard.push(`${makeError()}`),
  });
  realm.takeOps();
  return { ...realm, call, heard };
}

test('openCall() answers with the exchange that the host has opened', t => {
  const { modules, answer, takeOps } = newRealm();
  answer(Op.CallStream, () => 9);
  const reply = { onReply: () => {}, onFailed: () => {} };
  t.is(modules['open-calls'].openCall(Op.CallStream, SERVICE, 'put\nFILES\n{}', undefined, reply).exchange, 9);
  t.deepEqual(takeOps(), [['CallStream', SERVICE, 'put\nFILES\n{}']]);
});

test('openCall() throws when the host refuses the call, and nobody waits for an answer', t => {
  const { modules, answer } = newRealm();
  answer(Op.Call, () => {
    throw new OpFailure('EdgeError\ntoo many subrequests\nEDGE_SUBREQUEST_LIMIT');
  });
  const reply = { onReply: () => t.fail(), onFailed: () => t.fail() };
  const error = t.throws(() => modules['open-calls'].openCall(Op.Call, SERVICE, '', undefined, reply), { any: true });
  t.like(error, { message: 'too many subrequests', code: 'EDGE_SUBREQUEST_LIMIT' });
});

test('an answer is given to its call once', t => {
  const { heard, enter } = opened();
  enter(Ev.CallReply, 7, 200, 'head', BODY_NONE);
  enter(Ev.CallReply, 7, 200, 'again', BODY_NONE);
  enter(Ev.CallFailed, 7, 'Error\nafterwards');
  t.deepEqual(heard, ['head', null]);
});

test('an answer has a body also when that has no bytes', t => {
  const { heard, enter } = opened();
  enter(Ev.CallReply, 7, 200, 'head', 0);
  t.deepEqual(heard, ['head', 0]);
});

test('a failure is given to its call once, as an error of its name', t => {
  const { heard, enter } = opened();
  enter(Ev.CallFailed, 7, 'TypeError\nno such key');
  enter(Ev.CallReply, 7, 200, 'afterwards', BODY_NONE);
  t.deepEqual(heard, ['TypeError: no such key']);
});

test('the body of an answer that nobody waits for is stopped', t => {
  const { modules, heard, enter, takeOps } = opened();
  modules['open-calls'].dropCall(7);
  enter(Ev.CallReply, 7, 200, 'head', 10);
  t.deepEqual(takeOps(), [['BodyStop', 7]]);
  t.deepEqual(heard, []);
});

test('an answer without a body that nobody waits for is forgotten', t => {
  const { enter, takeOps } = newRealm();
  enter(Ev.CallReply, 1, 200, 'head', BODY_NONE);
  enter(Ev.CallFailed, 1, 'Error\nx');
  t.deepEqual(takeOps(), []);
});

test('abort() gives the call up, and nobody hears of its answer', t => {
  const { call, heard, enter, takeOps } = opened();
  call.abort();
  t.deepEqual(takeOps(), [['CallAbort', 7]]);
  enter(Ev.CallReply, 7, 200, 'head', BODY_NONE);
  enter(Ev.CallFailed, 7, 'Error\nx');
  t.deepEqual(heard, []);
});

test('abort() of a call that is over does nothing', t => {
  const { call, answer } = opened();
  answer(Op.CallAbort, () => {
    throw new OpFailure('Error\nno such exchange');
  });
  t.notThrows(() => call.abort());
});
