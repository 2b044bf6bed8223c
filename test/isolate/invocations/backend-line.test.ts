/** The connection of an isolate to the backend process, which it loses: the test is that process, and the host. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import type { GuestFunction } from '../../../src/isolate/bridge.js';
import { GuestExchange } from '../../../src/isolate/guest-exchange.js';
import { HeldWork } from '../../../src/isolate/held-work.js';
import { BackendLine } from '../../../src/isolate/invocations/backend-line.js';
import { Ev } from '../../../src/isolate/ops/table.js';
import { TurnQueue } from '../../../src/isolate/turns.js';
import { Channel } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { IsolateOpens, REPEATED_CALL } from '../../../src/protocol/messages.js';
import { carriedTransport } from '../../../src/protocol/transports/carried-transport.js';
import { portTransport, type Transport } from '../../../src/protocol/transports/transport.js';

const SERVICE = 3;
const INVOCATION = 2;

interface Call {
  readonly id: number;
  readonly kind: number;
  readonly head: string;
  readonly exchange: Exchange;
}

interface Backend {
  readonly channel: Channel;
  /** Resolves with the next calls. */
  next(count: number): Promise<readonly Call[]>;
}

function backend(transport: Transport): Backend {
  const calls: Call[] = [];
  let wake = (): void => {};
  const channel = new Channel(transport, 'host', {
    onOpen: (exchange, kind, head) => {
      calls.push({ id: exchange.id, kind, head, exchange });
      wake();
    },
    onSignal() {},
    onClose() {},
  });
  return {
    channel,
    async next(count) {
      while (calls.length < count) {
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
      return calls.splice(0, count);
    },
  };
}

interface Rig {
  readonly line: BackendLine;
  readonly first: Backend;
  /** The next connection that the isolate asks the host for. */
  asked(): Promise<Exchange>;
  /** How often it has asked. */
  readonly asks: () => number;
  /** Makes a call; resolves with the head of its answer, or the code of its failure. */
  call(head: string, body?: string): Promise<string>;
}

const IGNORE = (): void => {};
const OWNER = { onOpen: IGNORE, onSignal: IGNORE, onClose: IGNORE };

function rig(t: ExecutionContext): Rig {
  const ends: MessagePort[] = [];
  const pair = (): readonly [Transport, Transport] => {
    const { port1, port2 } = new MessageChannel();
    ends.push(port1);
    return [portTransport(port1), portTransport(port2)];
  };
  t.teardown(() => {
    for (const port of ends) port.close();
  });
  const [hostEnd, isolateEnd] = pair();
  const [backendEnd, callsEnd] = pair();
  const carriers: Exchange[] = [];
  let asked = 0;
  let wake = IGNORE;
  const onOpen = (exchange: Exchange, kind: number): void => {
    t.is(kind, IsolateOpens.Backend);
    carriers.push(exchange);
    asked++;
    wake();
  };
  new Channel(hostEnd, 'host', { ...OWNER, onOpen });
  const host = new Channel(isolateEnd, 'isolate', OWNER);
  const answers = new Map<unknown, (answer: string) => void>();
  const enter = (event: Ev, id: unknown, text: unknown, head: unknown): void => {
    if (event === Ev.CallReply) answers.get(id)?.(String(head));
    else if (event === Ev.CallFailed) answers.get(id)?.(String(text).split('\n')[2] ?? '');
  };
  const meter = { mayRun: () => true, begin: IGNORE, end: IGNORE, leave: IGNORE };
  const turns = new TurnQueue(enter as unknown as GuestFunction, meter, new HeldWork(), IGNORE);
  const line = new BackendLine(callsEnd, { host: () => host, onSignal: IGNORE });
  return {
    line,
    first: backend(backendEnd),
    async asked() {
      while (carriers.length === 0) {
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
      return carriers.shift() as Exchange; // there is one
    },
    asks: () => asked,
    call(head, body) {
      const exchange = line.open().open(SERVICE, head, true, body ?? null, true);
      const repeatable = body === undefined ? { line, service: SERVICE, head } : undefined;
      new GuestExchange(exchange, INVOCATION, turns, IGNORE, IGNORE, repeatable);
      return new Promise(resolve => answers.set(exchange.id, resolve));
    },
  };
}

const LOST = 'EDGE_SERVICES_LOST';

function answer({ exchange, head }: Call): void {
  exchange.reply(200, `answer to ${head}`, true, null, true);
}

/** Accepts what the isolate asks for. */
function accept(carrier: Exchange): Backend {
  const accepted = backend(carriedTransport(carrier));
  carrier.reply(200, '', true, null, false);
  return accepted;
}

test('calls without a body are made once more over the connection that the host gives, with their ids and in their order; then the later ones', async t => {
  const { line, first, asked, asks, call } = rig(t);
  const [answered, a, withBody, b] = [call('answered'), call('a'), call('body', 'text'), call('b')];
  const [one] = await first.next(4);
  answer(one as Call);
  t.is(await answered, 'answer to answered');
  t.true(line.isFirst);
  first.channel.close();
  t.is(await withBody, LOST);
  const next = accept(await asked());
  const later = call('later');
  const repeated = await next.next(3);
  t.deepEqual(
    repeated.map(({ id, kind, head }) => [id, kind, head]),
    [
      [3, SERVICE | REPEATED_CALL, 'a'],
      [7, SERVICE | REPEATED_CALL, 'b'],
      [9, SERVICE, 'later'],
    ],
  );
  for (const each of repeated) answer(each);
  t.deepEqual(await Promise.all([a, b, later]), ['answer to a', 'answer to b', 'answer to later']);
  t.false(line.isFirst);
  t.is(asks(), 1);
});

test('a call is made twice at most', async t => {
  const { first, asked, asks, call } = rig(t);
  const a = call('a');
  await first.next(1);
  first.channel.close();
  const second = accept(await asked());
  const b = call('b');
  await second.next(2);
  second.channel.close();
  t.is(await a, LOST);
  const third = accept(await asked());
  const [repeated] = await third.next(1);
  t.is(repeated?.head, 'b');
  answer(repeated as Call);
  t.is(await b, 'answer to b');
  t.is(asks(), 2);
});

test('without a connection calls fail, and none is asked for again', async t => {
  const { line, first, asked, asks, call } = rig(t);
  const a = call('a');
  await first.next(1);
  first.channel.close();
  (await asked()).fail('There is none');
  t.is(await a, LOST);
  t.true(line.open().isClosed);
  t.is(asks(), 1);
});

test('a connection that was lost while nothing was called is asked for with the next call', async t => {
  const { line, first, asked, asks, call } = rig(t);
  first.channel.close();
  while (!line.channel.isClosed) await new Promise(resolve => setImmediate(resolve));
  t.is(asks(), 0);
  const a = call('a');
  const [one] = await accept(await asked()).next(1);
  t.is(one?.kind, SERVICE);
  answer(one as Call);
  t.is(await a, 'answer to a');
});
