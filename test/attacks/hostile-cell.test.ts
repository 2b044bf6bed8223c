/**
 * What a cell could do that a function has taken over whole: the other end of the host's connection is a test that sends whatever it likes.
 * The host lives, its memory stays bounded, and only the isolate at fault ends.
 */
import test, { type ExecutionContext } from 'ava';
import type { InvocationPort } from '../../src/pool/host/invocation-port.js';
import { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import { ChunkQueue } from '../../src/protocol/bodies/chunk-queue.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { FrameType, HEADER_BYTES } from '../../src/protocol/frames/frame-layout.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { HostOpens, IsolateOpens, SignalKind } from '../../src/protocol/messages.js';
import type { TransportReader } from '../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from '../protocol/silent-transport.js';

interface Rig {
  readonly handle: IsolateHandle;
  readonly told: string[];
  readonly calls: Exchange[];
  readonly writer: FrameWriter;
  /** An open invocation; answers its id. */
  invoke(): number;
  /** Sends what was written. */
  send(): void;
  sendRaw(bytes: Buffer): void;
  written: number;
}

function rig(closeWithinMs?: number): Rig {
  let reader: TransportReader | undefined;
  const told: string[] = [];
  const calls: Exchange[] = [];
  const connection = {
    lease: 1,
    transport: {
      ...SILENT_TRANSPORT,
      start(given: TransportReader) {
        reader = given;
      },
      write(parts: readonly Buffer[]) {
        for (const part of parts) result.written += part.length;
      },
      close() {
        told.push('closed');
      },
    },
  };
  const handle = new IsolateHandle(connection, () => told.push('lease ended'), undefined, closeWithinMs);
  const port: InvocationPort = {
    onReply: status => told.push(`reply ${status}`),
    onData: () => {},
    onCredit: () => {},
    onSent: () => {},
    onStop: () => {},
    onFail: () => told.push('fail'),
    onLog: () => told.push('log'),
    onPassThrough: () => told.push('pass'),
    onNoRetry: () => told.push('noRetry'),
    onHandlerFailed: () => told.push('handler failed'),
    onCall: exchange => {
      calls.push(exchange);
      told.push('call');
    },
    onCallRead: () => {},
    checkProgress: () => {},
    onPong: () => {},
    onDone: () => told.push('done'),
    onLost: reason => told.push(`lost ${reason}`),
  };
  const writer = new FrameWriter();
  const result: Rig = {
    handle,
    told,
    calls,
    writer,
    invoke: () => handle.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, port).id,
    send() {
      for (const part of writer.take()) reader?.onRead(Buffer.from(part));
    },
    sendRaw: bytes => reader?.onRead(bytes),
    written: 0,
  };
  return result;
}

function frame(type: number, id: number, payload: Buffer, length = payload.length): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt32LE(id, 5);
  return Buffer.concat([header, payload]);
}

function isEnded(t: ExecutionContext, { handle, told }: Rig): void {
  t.false(handle.isUsable);
  t.true(told.includes('closed') && told.includes('lost protocol'), told.join(', '));
  t.is(told.filter(word => word.startsWith('lost')).length, 1);
}

/** Of many frames each round of the event loop reads some. */
async function untilRead({ handle }: Rig): Promise<void> {
  for (let round = 0; round < 1000 && handle.isUsable; round++) await new Promise(resolve => setImmediate(resolve));
}

const breaches: readonly [string, (rig: Rig, id: number) => void][] = [
  ['a frame of an unknown type', (r, id) => r.sendRaw(frame(99, id, Buffer.alloc(4)))],
  ['a frame of type 0', (r, id) => r.sendRaw(frame(0, id, Buffer.alloc(4)))],
  ['a length of four gigabytes', r => r.sendRaw(frame(FrameType.Signal, 0, Buffer.alloc(0), 0xffff_ffff))],
  ['data of four gigabytes', (r, id) => r.sendRaw(frame(FrameType.Data, id, Buffer.alloc(0), 0xffff_ffff))],
  [
    'a head that is longer than its frame',
    (r, id) => r.sendRaw(frame(FrameType.Reply, id, Buffer.from([200, 0, 1, 255, 255, 255, 127]))),
  ],
  ['a frame that is too short', (r, id) => r.sendRaw(frame(FrameType.Reply, id, Buffer.from([1])))],
  ['text in place of frames', r => r.sendRaw(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))],
  ['an even id of its own', r => r.writer.open(4000, 0, `2\n{}`, true, null, true)],
  ['the id 0', r => r.writer.open(0, 0, `2\n{}`, true, null, true)],
  [
    'the same id twice',
    (r, id) => {
      r.writer.open(1, 0, `${id}\n{}`, true, null, false);
      r.writer.open(1, 0, `${id}\n{}`, true, null, false);
    },
  ],
  [
    'two replies',
    (r, id) => {
      r.writer.reply(id, 200, '', false, null, false);
      r.writer.reply(id, 200, '', false, null, false);
    },
  ],
  [
    'more data than it has credit for',
    (r, id) => {
      r.writer.reply(id, 200, '', false, null, false);
      for (let i = 0; i < 5; i++) r.writer.data(id, new Uint8Array(64 * 1024));
    },
  ],
  [
    'data after the end',
    (r, id) => {
      r.writer.open(1, 0, `${id}\n{}`, true, null, false);
      r.writer.end(1);
      r.writer.data(1, new Uint8Array(1));
    },
  ],
  ['credit without end', (r, id) => r.writer.credit(id, 0xffff_ffff)],
  ['a failure that is no JSON', (r, id) => r.writer.signal(id, SignalKind.HandlerFailed, '{')],
  ['a failure that is an array', (r, id) => r.writer.signal(id, SignalKind.HandlerFailed, '[]')],
  ['an end without figures', (r, id) => r.writer.signal(id, SignalKind.Done, '')],
  ['the end of an invocation whose answer goes on', (r, id) => r.writer.signal(id, SignalKind.Done, Buffer.alloc(8))],
  [
    'tens of thousands of open calls',
    (r, id) => {
      for (let i = 0; i < 20_000; i++) r.writer.open(i * 2 + 1, 0, `${id}\n{}`, true, null, false);
    },
  ],
  [
    'bodies of hundreds of megabytes that nobody reads',
    (r, id) => {
      r.writer.open(1, 0, `${id}\n{}`, true, null, false);
      for (let i = 1; i < 600 && r.handle.isUsable; i++) {
        r.writer.open(i * 2 + 1, 0, `${id}\n{}`, true, null, false);
        for (let piece = 0; piece < 4; piece++) r.writer.data(i * 2 + 1, new Uint8Array(64 * 1024));
        r.send();
      }
    },
  ],
  [
    'heads of hundreds of megabytes',
    (r, id) => {
      for (let i = 0; i < 200 && r.handle.isUsable; i++) {
        r.writer.open(i * 2 + 1, 0, `${id}\n${'x'.repeat(1024 * 1024)}`, false, null, false);
        r.send();
      }
    },
  ],
  [
    'a head that is longer than any',
    (r, id) => r.writer.open(1, 0, `${id}\n${'x'.repeat(1200 * 1024)}`, false, null, false),
  ],
  ['a log line that is longer than any', (r, id) => r.writer.signal(id, SignalKind.Log, 'x'.repeat(400 * 1024))],
  [
    'a failure that is longer than any',
    (r, id) => r.writer.signal(id, SignalKind.HandlerFailed, `[${'[],'.repeat(60_000)}[]]`),
  ],
  [
    'ids that do not grow',
    (r, id) => {
      r.writer.open(5, 0, `${id}\n{}`, true, null, true);
      r.writer.open(3, 0, `${id}\n{}`, true, null, true);
    },
  ],
  [
    'frames that belong to nothing, without end',
    r => {
      for (let i = 0; i < 25_000; i++) r.writer.signal(4000, SignalKind.Log, 'x');
    },
  ],
];

for (const [name, breach] of breaches) {
  test(`a cell that sends ${name} loses the isolate, and no more`, async t => {
    const bad = rig();
    const good = rig();
    const id = bad.invoke();
    good.invoke();
    breach(bad, id);
    bad.send();
    await untilRead(bad);
    isEnded(t, bad);
    t.true(good.handle.isUsable);
    bad.writer.reply(id, 200, '', false, null, true);
    bad.send();
    t.false(bad.told.includes('reply 200') && name === 'a frame of type 0');
  });
}

test('notes, replies and calls for invocations of others reach nobody', t => {
  const r = rig();
  const id = r.invoke();
  for (const other of [0, 1, id + 2, id + 4, 0xffff_ffff]) {
    for (const kind of [0, 1, 2, 3, 4, 5, 200]) r.writer.signal(other, kind, Buffer.alloc(8));
    if (other !== 0) r.writer.end(other);
    r.writer.credit(other, 1000);
    r.writer.reset(other, 'x');
    r.writer.stopSending(other, 'x');
    r.writer.data(other, new Uint8Array(10));
  }
  r.writer.reply(id + 2, 200, '', false, null, true);
  for (const [index, head] of ['', '\n{}', 'x\n{}', `${id + 2}\n{}`, '__proto__\n{}', `${id}`].entries()) {
    r.writer.open(11 + index * 2, 0, head, true, null, true);
  }
  r.send();
  t.deepEqual(r.told, []);
  t.true(r.handle.isUsable);
});

test('what comes for an invocation after its end is dropped', t => {
  const r = rig();
  const id = r.invoke();
  r.writer.reply(id, 200, '', false, null, true);
  for (let i = 0; i < 3; i++) r.writer.signal(id, SignalKind.Done, Buffer.alloc(8));
  r.writer.reply(id, 500, '', false, null, true);
  r.writer.signal(id, SignalKind.Log, '\x01late');
  r.writer.open(1, 0, `${id}\n{}`, true, null, true);
  r.send();
  t.deepEqual(r.told, ['reply 200', 'done']);
  t.is(r.handle.inFlight, 0);
});

test('an isolate that never says that closed invocations are over is ended', t => {
  const r = rig();
  for (let i = 0; i < 2000 && r.handle.isUsable; i++) r.handle.closeInvocation(r.invoke());
  t.false(r.handle.isUsable);
  t.true(r.told.includes('lease ended'));
});

test('an isolate that answers and never says that the invocation is over does not keep it open', async t => {
  const r = rig(1);
  // The handle's timer keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const isFinished = new Promise<void>(resolve => {
    r.told.push = word => {
      r.told[r.told.length] = word;
      if (word.startsWith('lost')) resolve();
      return r.told.length;
    };
  });
  const id = r.invoke();
  r.writer.reply(id, 200, '', false, null, true);
  r.send();
  r.handle.closeInvocation(id);
  await isFinished;
  t.deepEqual([...r.told], ['reply 200', 'lost unresponsive']);
  t.is(r.handle.inFlight, 0);
  t.true(r.handle.isUsable);
  r.writer.signal(id, SignalKind.Done, Buffer.alloc(8));
  r.writer.open(1, 0, `${id}\n{}`, true, null, true);
  r.send();
  t.deepEqual([...r.told], ['reply 200', 'lost unresponsive']);
});

test('frames that come byte by byte are frames', t => {
  const r = rig();
  const id = r.invoke();
  r.writer.reply(id, 200, 'OK', false, Buffer.from('body'), true);
  for (const part of r.writer.take()) for (const byte of part) r.sendRaw(Buffer.from([byte]));
  t.deepEqual(r.told, ['reply 200']);
});

test('a body that comes byte by byte costs about its size', t => {
  const queue = new ChunkQueue();
  for (let i = 0; i < 200_000; i++) queue.push(Buffer.from([i & 255]));
  t.true(queue.count <= 13, `${queue.count} buffers`);
  let at = 0;
  for (let piece = queue.shift(1000); piece !== undefined; piece = queue.shift(1000)) {
    for (const byte of piece) if (byte !== (at++ & 255)) t.fail(`byte ${at}`);
    if (at % 3 === 0 && at < 200_000) {
      queue.push(Buffer.from([(at + queue.bytes) & 255]));
      if (queue.bytes + at > 400_000) break;
    }
  }
  t.true(at >= 200_000);
});

test('the answer to a load is checked field by field', async t => {
  const answers: readonly [string, boolean][] = [
    ['{"kind":"loaded","handlers":["fetch","__proto__",1,"fetch"],"startupTimeMs":1}', true],
    ['{"kind":"loaded","handlers":"fetch","startupTimeMs":1}', false],
    ['{"kind":"loaded","handlers":["fetch"],"startupTimeMs":-1}', false],
    ['{"kind":"failed","failure":{"code":"EDGE_CLOSED"}}', false],
    ['{"kind":"failed","failure":null}', false],
    ['null', false],
    ['{', false],
    ['"x"'.repeat(10), false],
  ];
  for (const [text, isFine] of answers) {
    const r = rig();
    const load = r.handle.load(
      {
        name: 'x',
        modules: [],
        env: {},
        bindings: [],
        flags: [],
        limits: {
          startupMs: 1,
          memoryBytes: 1,
          cpuOverrunMs: 0,
          cpuBalanceMs: 0,
          cpuMs: { fetch: 1, scheduled: 1, queue: 1, alarm: 1, tail: 1 },
        },
      },
      new Uint8Array(1),
    );
    r.writer.reply(2, 200, text, true, null, true);
    r.send();
    if (isFine) t.deepEqual(await load, { kind: 'loaded', handlers: ['fetch'], startupTimeMs: 1 });
    else await t.throwsAsync(load, undefined, text);
  }
});

test('a cell that asks for connections to the backend process gets one for each that it has lost', t => {
  const { handle, writer, send } = rig();
  const asked: number[] = [];
  writer.open(1, IsolateOpens.Backend, '', true, null, false);
  send();
  handle.reconnect = ({ id }) => void asked.push(id);
  for (const id of [3, 5, 7]) writer.open(id, IsolateOpens.Backend, '', true, null, false);
  send();
  t.deepEqual(asked, [3]);
  t.true(handle.isUsable);
  handle.end();
});
