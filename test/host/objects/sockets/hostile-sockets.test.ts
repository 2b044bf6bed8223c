/** What a cell that was taken over may say of sleeping WebSockets, and what becomes of what it has made the host hold. */
import test from 'ava';
import { LIST, SEND, SOCKET_LIMITS, SocketEntry } from '../../../../src/bindings/objects/socket-wire.js';
import type { MessageOwner } from '../../../../src/bindings/websocket/bridge-owner.js';
import { RecordKind } from '../../../../src/bindings/websocket/wire.js';
import { SleepingSockets } from '../../../../src/host/hibernation/function-sockets.js';
import { answeredSocket, handTo, takeHanded } from '../../../../src/host/hibernation/handed-sockets.js';
import type { SocketEventStart, SocketRunner } from '../../../../src/host/hibernation/keeper.js';
import { PairedEnd } from '../../../../src/host/hibernation/paired-end.js';
import type { SocketEnd } from '../../../../src/host/hibernation/socket-end.js';
import { Peer } from '../../../../src/host/invocation/peers.js';
import { objectSocketCalls } from '../../../../src/host/objects/socket-calls.js';
import { EdgeError } from '../../../../src/quotas/errors.js';
import { OWN_WORK } from '../../../../src/quotas/host/call-work.js';
import { HostBudget } from '../../../../src/quotas/host/host-share.js';

const ROOM = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

class Rig {
  readonly sockets = new SleepingSockets();
  readonly share = new HostBudget({ heapBytes: 2 ** 30, bufferBytes: 2 ** 30 }).share(
    'acme',
    { hostBytes: 2 ** 24, openInvocations: 10, openDescriptors: 10, sleepingWebSockets: 3 },
    () => {},
  );
  /** Events that have begun, and how each ends. */
  readonly begun: { readonly start: SocketEventStart; readonly over: () => void }[] = [];
  peer = new Peer(undefined as never, { isUsable: true } as never, undefined as never); // nothing of it is looked at
  readonly runner: SocketRunner = {
    context: { account: 'acme', function: 'fn', share: this.share, limits: { webSocketMessageBytes: 1000 } },
    beginSocketEvent: (_object, start, over) => {
      this.begun.push({ start, over });
      return undefined;
    },
  };
  readonly #calls = objectSocketCalls(this.sockets, () => this.runner);

  async call(method: string, args: unknown, body: Uint8Array | null = null, isOurs = true): Promise<unknown> {
    const { signal } = new AbortController();
    const origin = { peer: this.peer, invocation: '', props: undefined, chain: undefined, calls: CALLS };
    return (await this.#calls({ method, args, body, signal, work: OWN_WORK, ...(isOurs && { origin }) })).head;
  }

  send(...entries: Buffer[]): Promise<unknown> {
    return this.call(SEND, { c: 'Room', i: ROOM }, Buffer.concat(entries));
  }

  socket(number: number, id = ROOM) {
    return this.sockets.find(this.runner)?.find('Room', id)?.sockets.get(number);
  }
}

const CALLS = { depth: 1, total: { count: 1 } };

function entry(socket: number, kind: number, payload: string | Buffer): Buffer {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUInt32LE(socket, 0);
  head.writeUInt8(kind, 4);
  head.writeUInt32LE(bytes.length, 5);
  return Buffer.concat([head, bytes]);
}

const accept = (socket: number, tags: unknown = []): Buffer =>
  entry(socket, SocketEntry.Accept, JSON.stringify({ t: tags }));

class End implements SocketEnd {
  readonly received: string[] = [];
  unsentBytes = 0;
  owner: MessageOwner | undefined;

  receive(record: Buffer): boolean {
    this.received.push(record.toString('latin1', 5));
    return true;
  }

  resume(): void {}

  end(code: number, reason: string): void {
    this.received.push(`end ${code} ${reason}`);
  }

  drop(why: string): void {
    this.received.push(`drop ${why}`);
  }
}

test('calls that no isolate of ours makes are refused, and leave nothing', async t => {
  const rig = new Rig();
  const names: unknown[] = [
    undefined,
    null,
    'Room',
    {},
    { c: 'Room' },
    { c: 1, i: ROOM },
    { c: 'Room', i: ROOM.toUpperCase() },
  ];
  names.push({ c: 'a b', i: ROOM }, { c: 'Room', i: ROOM, n: 1 }, { c: 'Room', i: ROOM, n: 'n'.repeat(1025) });
  for (const args of names) {
    await t.throwsAsync(rig.call(SEND, args, accept(1)), { instanceOf: TypeError });
    await t.throwsAsync(rig.call(LIST, args), { instanceOf: TypeError });
  }
  await t.throwsAsync(rig.call('other', { c: 'Room', i: ROOM }), { instanceOf: TypeError });
  for (const w of [undefined, '1', -1, 1.5, 1, null, {}])
    await t.throwsAsync(rig.call('join', { w }), { instanceOf: TypeError });
  const long = 'x'.repeat(SOCKET_LIMITS.tagLength + 1);
  const pair = Buffer.concat([Buffer.from([0xff, 0xff]), Buffer.alloc(10)]);
  const bodies = [
    Buffer.alloc(1),
    Buffer.alloc(8),
    accept(1).subarray(0, -1),
    entry(1, 99, ''),
    entry(1, SocketEntry.Accept, '{'),
    entry(1, SocketEntry.Accept, '[]'),
    entry(1, SocketEntry.Accept, `{"t":[]}${' '.repeat(20_000)}`),
    accept(1, null),
    accept(1, [1]),
    accept(1, [long]),
    accept(1, Array(SOCKET_LIMITS.tags + 1).fill('a')),
    entry(0, SocketEntry.AutoResponse, pair),
    entry(0, SocketEntry.AutoResponse, 'x'),
    entry(0, SocketEntry.AutoResponse, Buffer.concat([Buffer.from([0, 0]), Buffer.alloc(2049)])),
    entry(0, SocketEntry.EventTimeout, 'abc'),
    entry(0, SocketEntry.EventTimeout, Buffer.from([0xff, 0xff, 0xff, 0xff])),
    entry(1, SocketEntry.Attachment, Buffer.alloc(18 * 1024)),
    Buffer.alloc(3 * 1024 * 1024),
  ];
  for (const body of bodies) await t.throwsAsync(rig.send(body), { instanceOf: TypeError });
  await t.throwsAsync(rig.call(SEND, { c: 'Room', i: ROOM }, accept(1), false), { instanceOf: TypeError });
  t.is(rig.sockets.count, 0);
  t.is(rig.share.bytes.held, 0);
  t.is(rig.sockets.find(rig.runner)?.find('Room', ROOM), undefined);
});

test('a number names a socket of one object, and one that is accepted again is refused', async t => {
  const rig = new Rig();
  await rig.send(accept(7, ['a']), entry(7, RecordKind.Text, 'early'));
  await t.throwsAsync(rig.send(accept(7)), { instanceOf: TypeError });
  const end = new End();
  rig.socket(7)?.connect(() => end);
  await rig.call(
    SEND,
    { c: 'Room', i: OTHER },
    Buffer.concat([entry(7, RecordKind.Text, 'stolen'), entry(7, SocketEntry.Attachment, 'a')]),
  );
  await rig.call(SEND, { c: 'Other', i: ROOM }, entry(7, RecordKind.Close, '\0\0'));
  t.is(rig.socket(7, OTHER), undefined);
  await rig.send(entry(7, RecordKind.Text, 'own'), entry(8, RecordKind.Text, 'nobody'));
  t.deepEqual(end.received, ['early', 'own']);
  t.is(rig.socket(7)?.attachment, undefined);
});

test('an answer names a socket that its own invocation has, and that no other answer has taken', async t => {
  const rig = new Rig();
  await rig.send(accept(1), accept(2));
  const answer = (text: string, peer = rig.peer): unknown => {
    const object = { socket: (number: number) => rig.socket(number) };
    return answeredSocket(Buffer.from(text), { object }, { peer });
  };
  const other = new Peer(undefined as never, { isUsable: true } as never, undefined as never); // nothing of it is looked at
  const socket = rig.socket(2);
  if (socket === undefined) throw new TypeError('It was not accepted');
  const number = handTo(rig.peer, socket);
  for (const text of ['', 'o', 'o-1', 'o3', 'x1', 'o1 ', `o${'1'.repeat(20)}`, `h${number + 1}`, 'h0'])
    t.is(answer(text), undefined);
  t.is(answer(`h${number}`, other), undefined);
  t.is(takeHanded(other, number), undefined);
  t.is(answeredSocket(Buffer.from('o1'), {}, rig), undefined);
  t.is(answer(`h${number}`), socket);
  t.is(answer(`h${number}`), undefined);
  t.is(answer('o1'), rig.socket(1));
  rig.socket(1)?.connect(() => new End());
  t.is(answer('o1'), undefined);
});

test('sleepingWebSockets bounds an account, and all that was held is given back', async t => {
  const rig = new Rig();
  const auto = Buffer.concat([Buffer.from([4, 0]), Buffer.from('pingpong')]);
  await rig.send(
    accept(1, ['a'.repeat(200)]),
    entry(0, SocketEntry.AutoResponse, auto),
    entry(1, SocketEntry.Attachment, Buffer.alloc(9000)),
  );
  await rig.send(accept(2), entry(2, RecordKind.Text, 'waits for its connection'));
  await rig.send(accept(3));
  const error = await t.throwsAsync(rig.send(accept(4)), { instanceOf: EdgeError });
  t.regex(error?.message ?? '', /option sleepingWebSockets is 3/);
  t.is(rig.sockets.count, 3);
  t.true(rig.share.bytes.held > 9000 + 3 * 512);
  const end = new End();
  rig.socket(1)?.connect(owner => {
    end.owner = owner;
    return end;
  });
  end.owner?.message(Buffer.from('ping'), false);
  t.deepEqual(end.received, ['pong']);
  t.is(rig.begun.length, 0);
  // 16 at once, and no more is read.
  let isWanted = true;
  for (let n = 0; n < 20; n++) isWanted = end.owner?.message(Buffer.alloc(100), true) === true;
  t.false(isWanted);
  for (const { over } of rig.begun.splice(0)) over();
  // Who does not take what is sent is given up.
  end.unsentBytes = 5 * 1024 * 1024;
  await rig.send(entry(1, RecordKind.Text, 'more'));
  t.regex(end.received.at(-1) ?? '', /^drop /);
  end.owner?.ended(1006, '', 'dropped');
  // The invocation is over that had accepted the others, and was to answer with them.
  rig.peer.close();
  t.deepEqual(
    rig.begun.map(({ start }) => start.head.slice(0, 1)),
    ['e', 'c', 'c'],
  );
  for (const { over } of rig.begun.splice(0)) over();
  t.is(rig.sockets.count, 0);
  t.is(rig.share.bytes.held, 0);
});

test('the end of the function ends its sockets, whatever they wait for', async t => {
  const rig = new Rig();
  await rig.send(accept(1), accept(2), entry(2, RecordKind.Text, 'early'), entry(1, SocketEntry.Attachment, 'kept'));
  const end = new End();
  rig.socket(1)?.connect(owner => {
    end.owner = owner;
    return end;
  });
  end.owner?.message(Buffer.from('one'), false);
  const late = rig.socket(2);
  rig.sockets.end(rig.runner, new EdgeError('EDGE_FUNCTION_UNLOADED', 'gone'));
  t.deepEqual(end.received, ['end 1001 EDGE_FUNCTION_UNLOADED']);
  end.owner?.message(Buffer.from('two'), false);
  end.owner?.ended(1001, '', '');
  const refused = new End();
  late?.connect(() => refused);
  t.deepEqual(refused.received, ['end 1001 ']);
  for (const { over } of rig.begun.splice(0)) over();
  t.is(rig.sockets.count, 0);
  t.is(rig.share.bytes.held, 0);
});

test('halves of messages that functions send to sleeping sockets count to the account, and have a bound', t => {
  const budget = new HostBudget({ heapBytes: 2 ** 30, bufferBytes: 2 ** 30 });
  const share = budget.share('acme', { hostBytes: 8000, openInvocations: 1, openDescriptors: 1 }, () => {});
  const work = { owner: share, countBytes: (bytes: number) => share.bytes.countBuffers(bytes) };
  const ended: string[] = [];
  const end = (name: string): PairedEnd => {
    const near: MessageOwner = {
      message: () => true,
      ended: (code, _reason, failure) => ended.push(`${name} ${code} ${failure}`),
      drained: () => {},
    };
    return new PairedEnd(near, { records: () => true, closed: () => {}, drained: () => {} }, work, 2000);
  };
  const head = Buffer.from([RecordKind.Binary, ...[2000 & 255, 2000 >> 8, 0, 0]]);
  const [first, second] = [end('first'), end('second')];
  first.far.receive(Buffer.concat([head, Buffer.alloc(1900)]));
  t.true(share.bytes.held >= 1900);
  // The rest has come: what is whole is the object's.
  first.far.receive(Buffer.alloc(100));
  t.is(share.bytes.held, 0);
  first.far.receive(Buffer.concat([head, Buffer.alloc(1900)]));
  second.far.receive(Buffer.concat([head, Buffer.alloc(1900)]));
  t.deepEqual(ended, ['second 1006 The account holds too much of messages that are not whole']);
  first.far.end(1000, '');
  t.is(share.bytes.held, 0);
});
