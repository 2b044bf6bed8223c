/**
 * What runs in a cell that has been taken over, in place of its main file: it starts isolates, loads functions and answers requests as an
 * honest cell does, until the path of a request names a flood or a hoard. From then on it sends that as fast as the host reads. Its text is
 * handed to Node on the command line (hijack.ts), since a cell may read nothing but the package's own code.
 */
import { Socket } from 'node:net';
import process from 'node:process';
import { Control, type LeaseDescriptors, parseStart } from '../../../src/pool/control.js';
import { Channel } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { FrameType, HEADER_BYTES } from '../../../src/protocol/frames/frame-layout.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { HostOpens, QUEUE_WORD_BYTES, SignalKind } from '../../../src/protocol/messages.js';
import { descriptorTransport, socketTransport } from '../../../src/protocol/transports/transport.js';
import { ServiceId } from '../../../src/quotas/service-calls.js';
import { call } from './call.js';
import { answerCall, pipelines } from './pipelines.js';

const CONTROL_FD = 3;
const KIBIBYTE = 1024;
/** Frames are gathered to writes of about this size. */
const WRITE_BYTES = 256 * KIBIBYTE;
/** What the host takes of a body before it is asked for more. */
const WINDOW_BYTES = 64 * KIBIBYTE;
/** An id that the host has not opened. */
const NOBODY = 0x7fff_fffe;
const NO_SERVICE = 200;
const FETCH = 0;
/** The host has read what came before by then. */
const HEADS_ARE_READ_MS = 100;
const BUCKET = 1;

/** One isolate of the cell: an invocation of it, and the connection that it came by. */
interface Attacker {
  readonly socket: Socket;
  readonly invocation: number;
  /** Sends frames or what looks like them; resolves when there is room for more, or the connection is over. */
  send(...parts: Buffer[]): Promise<void>;
  newId(): number;
}

const control = new Channel(descriptorTransport(CONTROL_FD), 'isolate', {
  onOpen: exchange => exchange.fail('Not supported'),
  onSignal(lease, kind, payload) {
    if (kind === Control.Settings) control.signal(0, Control.Ready, '');
    else if (kind === Control.Ping) control.signal(0, Control.Pong, '');
    else if (kind === Control.Start) startIsolate(parseStart(payload));
    else if (kind === Control.End) control.signal(lease, Control.Ended, 'closed\n');
  },
  onClose: () => process.exit(0),
});

function startIsolate({ fd, callsFd }: LeaseDescriptors): void {
  const socket = new Socket({ fd });
  const services = callsFd === undefined ? undefined : openBackend(callsFd);
  const channel = new Channel(socketTransport(socket, false), 'isolate', {
    onOpen(exchange, kind, head) {
      if (kind === HostOpens.Warm) exchange.reply(200, '', true, null, true);
      else if (kind === HostOpens.Load) {
        const answer = JSON.stringify({ kind: 'loaded', handlers: ['fetch'], startupTimeMs: 1 });
        exchange.reply(200, answer, true, null, true);
      } else {
        if (kind === HostOpens.Rpc) {
          answerCall(channel, exchange);
          return;
        }
        const { pathname, searchParams, host } = new URL(head.split('\n')[1] ?? '');
        if (pathname === '/echo') {
          echo(exchange);
          return;
        }
        if (pathname === '/socket') {
          answerSocket(exchange, searchParams);
          return;
        }
        if (pathname === '/ring') {
          ring(channel, exchange.id, host);
          return;
        }
        if (pathname === '/heads') {
          const heads: unknown[] = JSON.parse(searchParams.get('heads') ?? '[]'); // of the test
          for (const text of heads) (services ?? channel).open(ServiceId.Kv, String(text), true, null, true);
          setTimeout(() => {
            exchange.reply(200, 'OK', false, 'sent', true);
            channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
          }, HEADS_ARE_READ_MS);
          return;
        }
        const calls = CALLS[pathname];
        if (calls !== undefined) {
          void calls(services ?? channel, exchange.id).then(summary => {
            exchange.reply(200, 'OK', false, summary, true);
            services?.signal(exchange.id, SignalKind.Done, '');
            channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
          });
          return;
        }
        const attack = ATTACKS[pathname];
        if (attack !== undefined) {
          // An attacker ignores the answers.
          socket.removeAllListeners('data');
          socket.resume();
          void attack(attacker(socket, exchange.id), searchParams);
        } else {
          exchange.reply(200, 'OK', false, 'taken over', true);
          channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
        }
      }
    },
    onSignal() {},
    onClose: () => socket.destroy(),
  });
}

/** Calls that no client makes, of each service: how many were made, answered and refused, and what was in the answers. */
function hostileCalls(channel: Channel, invocation: number): Promise<string> {
  const calls = HOSTILE_CALLS.flatMap(([service, binding, method, usual]) =>
    hostileArguments(usual).map(args => ({ service, head: `${method}\n${binding}\n${args}` })),
  );
  let [answered, failed, next] = [0, 0, 0];
  let texts = '';
  /** Calls that failed with an exception which no check of arguments has thrown. */
  let untyped = '';
  const reasons = new Map<string, number>();
  return new Promise(resolve => {
    let open = 0;
    const fill = (): void => {
      for (; open < 64 && next < calls.length; next++) {
        const { service = 0, head = '' } = calls[next] ?? {};
        // Every hundredth names another invocation, which is not open. What is no number of one ends the cell.
        const owner = next % 100 === 99 ? [invocation + 2, 2, 0, 4_000_000_000][next % 4] : invocation;
        const isWhole = next % 3 > 0;
        open++;
        call(channel, service, `${owner}\n${head}`, isWhole, (reply, reason) => {
          open--;
          if (reason === undefined) answered++;
          else {
            failed++;
            const [name = '', message = ''] = reason.split('\n');
            if (message === 'Internal error') untyped += `${service} ${head.slice(0, 200)};`;
            reasons.set(name, (reasons.get(name) ?? 0) + 1);
          }
          texts += /NEIGHBOUR[^"]*/.exec(reply)?.[0] ?? '';
          fill();
        });
      }
      const isOver = next >= calls.length && open === 0;
      if (isOver)
        resolve(
          JSON.stringify({ calls: next, answered, failed, texts, untyped, reasons: Object.fromEntries(reasons) }),
        );
    };
    for (let id = 0; id < 100; id++) {
      for (const kind of [SignalKind.CallRead, SignalKind.Pong, SignalKind.SpliceTo, SignalKind.NoRetry]) {
        channel.signal(id, kind, Buffer.alloc(4, id));
        channel.signal(invocation, kind, Buffer.alloc(id % 8, id));
      }
      channel.signal(invocation, SignalKind.QueueWord, Buffer.alloc(QUEUE_WORD_BYTES, id % 4));
      channel.signal(id, SignalKind.SpliceFrom, Buffer.alloc(4, id));
    }
    fill();
  });
}

/** JSON of arguments, each with one member that is not what it should be. */
function hostileArguments(usual: Readonly<Record<string, unknown>>): string[] {
  const deep = '['.repeat(60) + ']'.repeat(60);
  const values = [
    ...[
      'null',
      'true',
      '-1',
      '0',
      '1e308',
      '0.5',
      '9007199254740993',
      '""',
      '"x"',
      '"..\\u0000/\\ud800\\n"',
      '[]',
      '{}',
    ],
    ...[deep, '{"__proto__":{"then":1},"constructor":1,"then":1}', `"${'k'.repeat(600)}"`, `[${'0,'.repeat(400)}0]`],
    ...['[{}]', '[{"x":0},{"i":0}]', '[{"x":1,"i":1}]', '["a","b"]', '[1e15]', '[-1]', '[[0]]', '[null]'],
  ];
  const all = [JSON.stringify(usual), ...values];
  for (const name of Object.keys(usual)) {
    const rest = JSON.stringify({ ...usual, [name]: undefined });
    const lead = rest === '{}' ? '{' : `${rest.slice(0, -1)},`;
    for (const value of values) all.push(`${lead}"${name}":${value}}`);
  }
  return all;
}

const CALLS: Readonly<Record<string, (channel: Channel, invocation: number) => Promise<string>>> = {
  '/calls': hostileCalls,
  '/pipelines': pipelines,
};

const URL_OF_NEIGHBOUR = 'http://neighbour.test/';
/** Of the function itself, and of any account that has such a class. */
const OBJECT = { c: 'Room', i: 'a'.repeat(64), s: 0 };
const CALL_SHAPE = { p: ['method'], b: [7], f: [{ x: 1 }], s: false, i: 1 };
/** Services, bindings, methods, and arguments that are in order. */
const HOSTILE_CALLS: readonly (readonly [
  service: number,
  binding: string,
  method: string,
  usual: Readonly<Record<string, unknown>>,
])[] = [
  [ServiceId.Bucket, 'FILES', 'head', { key: 'object' }],
  [ServiceId.Bucket, 'FILES', 'get', { key: 'object', onlyIf: { etagMatches: 'x' }, range: { offset: 0, length: 1 } }],
  [
    ServiceId.Bucket,
    'FILES',
    'put',
    { key: 'a', httpMetadata: { contentType: 'a' }, customMetadata: { a: 'b' }, md5: 'x' },
  ],
  [ServiceId.Bucket, 'FILES', 'list', { prefix: 'a', cursor: 'c2VjcmV0', delimiter: '/', limit: 10, include: ['a'] }],
  [ServiceId.Bucket, 'FILES', 'uploadPart', { key: 'a', uploadId: 'x', partNumber: 1 }],
  [
    ServiceId.Bucket,
    'FILES',
    'completeMultipartUpload',
    { key: 'a', uploadId: 'x', parts: [{ partNumber: 1, etag: 'x' }] },
  ],
  [ServiceId.Cache, '', 'match', { url: URL_OF_NEIGHBOUR, headers: ['range', 'bytes=0-'], cache: 'x' }],
  [
    ServiceId.Cache,
    '',
    'put',
    { url: 'http://x/', status: 200, statusText: '', headers: ['cache-control', 'max-age=60'], cache: 'x', size: 7 },
  ],
  [ServiceId.Cache, '', 'delete', { url: URL_OF_NEIGHBOUR, cache: 'x' }],
  [ServiceId.Callback, 'APP', 'call', { f: 'add', v: ['a', 1], b: [7], s: false }],
  [ServiceId.Kv, 'KV', 'get', { key: 'secret', text: true, cacheTtl: 60 }],
  [ServiceId.Kv, 'KV', 'getMany', { keys: ['secret', 'b'] }],
  [ServiceId.Kv, 'KV', 'put', { key: 'a', metadata: '{}', expiration: 9e9, expirationTtl: 60 }],
  [ServiceId.Kv, 'KV', 'delete', { key: 'secret' }],
  [ServiceId.Kv, 'KV', 'list', { prefix: '', cursor: 'c2VjcmV0', limit: 10 }],
  [ServiceId.Queue, 'JOBS', 'send', { m: [{ t: 'json', n: 7, d: 1 }], d: 1 }],
  [ServiceId.Queue, 'JOBS', 'sendBatch', { m: [{ t: 'v8', n: 7 }], d: 1 }],
  [ServiceId.Queue, 'JOBS', 'metrics', {}],
  [ServiceId.Queue, 'JOBS', 'receive', { maxMessages: 1 }],
  [ServiceId.Function, 'OTHER', 'fetch', { method: 'GET', url: 'http://x/', headers: ['a', 'b'], redirect: 'follow' }],
  [ServiceId.Function, 'OTHER', 'call', CALL_SHAPE],
  [ServiceId.Stub, '', 'call', CALL_SHAPE],
  [
    ServiceId.Socket,
    '',
    'connect',
    { socket: 1, hostname: '::ffff:127.0.0.1', port: 1, secureTransport: 'off', allowHalfOpen: false },
  ],
  [ServiceId.Socket, '', 'startTls', { socket: 1, sentBytes: 0, readBytes: 0, serverName: null }],
  [ServiceId.Socket, '', 'finish', { socket: 1 }],
  [ServiceId.Kv, 'NOBODY', 'get', { key: 'secret' }],
  [ServiceId.Sql, 'DB', 'query', { n: 1, r: true }],
  [ServiceId.Sql, 'DB', 'exec', { n: 1 }],
  [ServiceId.Sql, 'DB', 'export', {}],
  [ServiceId.ObjectStorage, '', 'open', OBJECT],
  [ServiceId.ObjectStorage, '', 'get', { ...OBJECT, x: true }],
  [ServiceId.ObjectStorage, '', 'list', { ...OBJECT, l: 10, r: false, b: 0 }],
  [ServiceId.ObjectStorage, '', 'write', { ...OBJECT, q: 0, n: 7, d: true, a: 1, x: true, u: true }],
  [ServiceId.ObjectStorage, '', 'getAlarm', OBJECT],
  [ServiceId.ObjectStorage, '', 'sql', { ...OBJECT, p: [1], z: 0 }],
  [ServiceId.ObjectStorage, '', 'sqlRollback', { ...OBJECT, y: 0 }],
  [ServiceId.ObjectCall, 'ROOM', 'call', { ...CALL_SHAPE, o: ['a'.repeat(64), 'name'] }],
  [ServiceId.ObjectCall, 'ROOM', 'fetch', { method: 'GET', url: 'http://x/', headers: [], o: ['a'.repeat(64)] }],
  [ServiceId.ObjectSockets, '', 'send', OBJECT],
  [ServiceId.ObjectSockets, '', 'list', OBJECT],
  [ServiceId.ObjectSockets, '', 'join', { s: 1 }],
  [ServiceId.WebSocket, '', 'fetch', { method: 'GET', url: 'http://127.0.0.1:1/', headers: [] }],
];

/** The connection to the backend process, if there is one. */
function openBackend(fd: number): Channel {
  return new Channel(socketTransport(new Socket({ fd }), false), 'isolate', {
    onOpen: exchange => exchange.fail('Not supported'),
    onSignal() {},
    onClose() {},
  });
}

/** Sends back what it gets: as soon as it may, by the host alone. */
function echo(exchange: Exchange): void {
  const ignore = (): void => {};
  const move = (): void => {
    for (let piece = exchange.read(WINDOW_BYTES); piece !== undefined; piece = exchange.read(WINDOW_BYTES)) {
      exchange.write(Buffer.from(piece));
    }
    if (exchange.isPaused) exchange.splice(exchange);
  };
  exchange.listener = {
    onReply: ignore,
    onData: move,
    onCredit: ignore,
    onSent: ignore,
    onStop: ignore,
    onFail: ignore,
  };
  exchange.reply(200, 'OK', false, null, false);
  exchange.forwardIncoming();
}

/** Switches protocols and sends what the query says, `records` in hexadecimal; with `again` over and over, as fast as it may. */
function answerSocket(exchange: Exchange, query: URLSearchParams): void {
  const records = Buffer.from(query.get('records') ?? '', 'hex');
  const isEndless = query.has('again');
  const send = (): void => {
    while (exchange.write(records) > 0 && isEndless) {
      // Until it may send no more.
    }
  };
  const ignore = (): void => {};
  exchange.listener = {
    onReply: ignore,
    onData: ignore,
    onCredit: () => isEndless && send(),
    onSent: ignore,
    onStop: ignore,
    onFail: ignore,
  };
  exchange.reply(101, '', false, null, query.has('whole'));
  send();
}

/**
 * Two fetches of the function itself, which sends back what it gets: the answer of each is the body of the other, so that the same bytes go round
 * in the host without end, and cost this cell nothing.
 */
function ring(channel: Channel, invocation: number, host: string): void {
  const { writer } = channel;
  const [first, second] = [3, 5];
  const args = JSON.stringify({ method: 'POST', url: `https://${host}/echo`, headers: [] });
  for (const id of [first, second]) {
    writer.open(id, FETCH, `${invocation}\nfetch\n\n${args}`, true, null, false);
    writer.data(id, new Uint8Array(WINDOW_BYTES));
  }
  for (const id of [first, second]) writer.pause(id);
  writer.splice(first, second);
  writer.splice(second, first);
  channel.scheduleFlush();
}

function attacker(socket: Socket, invocation: number): Attacker {
  let lastId = 1;
  return {
    socket,
    invocation,
    newId() {
      lastId += 2;
      return lastId;
    },
    send(...parts) {
      return new Promise(resolve => {
        if (socket.destroyed) return;
        const go = (): void => {
          socket.off('drain', go);
          socket.off('close', go);
          resolve();
        };
        if (socket.write(Buffer.concat(parts))) setImmediate(resolve);
        else {
          socket.on('drain', go);
          socket.on('close', go);
        }
      });
    },
  };
}

/** A frame of whatever type and length, which an honest writer would not make. */
function frame(type: number, id: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(bytes.length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt32LE(id, 5);
  return Buffer.concat([header, bytes]);
}

function frames(write: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter();
  write(writer);
  return Buffer.concat(writer.take());
}

/** Such as the guest writes them: "invocation\nmethod\nbinding\narguments". */
function head({ invocation }: Attacker, method: string, args: string): string {
  return `${invocation}\n${method}\nFILES\n${args}`;
}

function put(attacker: Attacker, args: string): { readonly id: number; readonly bytes: Buffer } {
  const id = attacker.newId();
  const bytes = frames(writer => writer.open(id, BUCKET, head(attacker, 'put', args), true, null, false));
  return { id, bytes };
}

/** The same bytes, as many as fill a write, over and over. */
async function repeat({ socket, send }: Attacker, bytes: Buffer): Promise<void> {
  const many = Buffer.concat(Array.from({ length: Math.max(1, Math.floor(WRITE_BYTES / bytes.length)) }, () => bytes));
  while (!socket.destroyed) await send(many);
}

const ATTACKS: Readonly<Record<string, (attacker: Attacker, query: URLSearchParams) => Promise<void>>> = {
  /** Signals of ten bytes for exchanges that do not exist. */
  '/flood/notes': attacker => repeat(attacker, frame(FrameType.Signal, NOBODY, Buffer.alloc(1))),

  /** Signals of the largest size for exchanges that do not exist. */
  '/flood/large-notes': (attacker, query) =>
    repeat(attacker, frame(FrameType.Signal, NOBODY, Buffer.alloc(Number(query.get('bytes'))))),

  /** Calls of a service that is not there: with new ids, or with those that were used before. */
  async '/flood/opens'(attacker, query) {
    const isAgain = query.has('again');
    const batch = (): Buffer =>
      frames(writer => {
        for (let n = 0; n < 2000; n++) {
          writer.open(attacker.newId(), NO_SERVICE, head(attacker, 'x', '{}'), true, null, true);
        }
      });
    const first = batch();
    while (!attacker.socket.destroyed) await attacker.send(isAgain ? first : batch());
  },

  /** Failures of the handler that are dear to parse. */
  '/flood/failed'(attacker, query) {
    const values = '[],'.repeat(Math.floor(Number(query.get('bytes')) / 3));
    const failure = `{"code":"EDGE_HANDLER_THREW","name":"","message":"","stack":"","x":[${values}0]}`;
    return repeat(
      attacker,
      frame(FrameType.Signal, attacker.invocation, String.fromCharCode(SignalKind.HandlerFailed) + failure),
    );
  },

  /** Calls whose arguments have as many names as they can. */
  async '/flood/head'(attacker, query) {
    const names: string[] = [];
    for (let bytes = 0, n = 0; bytes < Number(query.get('bytes')); n++) {
      bytes += names[names.push(`"${n.toString(36)}":0`) - 1]?.length ?? 0;
    }
    const args = `{${names.join()}}`;
    while (!attacker.socket.destroyed) {
      const text = head(attacker, 'put', args);
      await attacker.send(frames(writer => writer.open(attacker.newId(), BUCKET, text, true, null, true)));
    }
  },

  async '/flood/logs'(attacker) {
    const line = String.fromCharCode(SignalKind.Log, 1) + 'x'.repeat(1000);
    await repeat(attacker, frame(FrameType.Signal, attacker.invocation, line));
  },

  async '/flood/stderr'({ socket }) {
    const piece = Buffer.alloc(WINDOW_BYTES, 'x');
    while (!socket.destroyed) {
      await new Promise(resolve => process.stderr.write(piece, resolve));
      await new Promise(resolve => setImmediate(resolve));
    }
  },

  /** Small chunks of bodies right behind large frames: a view of the chunk that is kept would keep the large frame. */
  async '/hoard/partial'(attacker, query) {
    const large = frame(FrameType.Signal, NOBODY, Buffer.alloc(Number(query.get('bytes'))));
    const piece = Buffer.alloc(WINDOW_BYTES / 4);
    for (let call = 0; call < 900; call++) {
      const { id, bytes } = put(attacker, `{"key":"key-${call}"}`);
      await attacker.send(bytes);
      for (let n = 0; n < 4; n++) await attacker.send(large, frame(FrameType.Data, id, piece));
    }
  },

  /** Calls with large heads: the first ones hold the connections, and all others wait. */
  async '/hoard/heads'(attacker, query) {
    const value = 'あ'.repeat(Math.floor(Number(query.get('bytes')) / 3));
    for (let call = 0; call < 900; call++) {
      await attacker.send(put(attacker, `{"key":"key-${call}","customMetadata":{"x":"${value}"}}`).bytes);
    }
  },

  /** Calls that wait, each with as much of its body as may come before it is read. */
  async '/hoard/bodies'(attacker) {
    for (let call = 0; call < 900; call++) {
      const { id, bytes } = put(attacker, `{"key":"key-${call}"}`);
      await attacker.send(
        bytes,
        frames(writer => writer.data(id, Buffer.alloc(WINDOW_BYTES))),
      );
    }
  },

  /** Asks for objects and gives all the credit that there is, and never reads. */
  async '/hoard/replies'(attacker) {
    attacker.socket.pause();
    for (let call = 0; call < 900; call++) {
      const id = attacker.newId();
      await attacker.send(
        frames(writer => {
          writer.open(id, BUCKET, head(attacker, 'get', '{"key":"object"}'), true, null, true);
          writer.credit(id, 3 * WINDOW_BYTES);
        }),
      );
    }
  },
};
