/**
 * What runs in a cell that has been taken over, in place of its main thread: it answers as a cell and its isolates do, and to a request
 * with `?flood=NAME` it sends what no honest isolate would, as fast as the host reads. Its text is handed to Node on the command line
 * (hijack.ts), so that it runs behind the sandbox and the permissions of a real cell, which lets it import the package's own code alone.
 */
import { Socket } from 'node:net';
import process from 'node:process';
import { Control } from '../../src/pool/control.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { FrameType, HEADER_BYTES } from '../../src/protocol/frames/frame-layout.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { HostOpens, SignalKind } from '../../src/protocol/messages.js';
import { socketTransport } from '../../src/protocol/transports/transport.js';

const MEBIBYTE = 1024 * 1024;
const CONTROL_FD = 3;
/** Frames are gathered to writes of about this size. */
const WRITE_BYTES = 256 * 1024;
const PIECE_BYTES = 64 * 1024;
/** An id that the host has not opened. */
const NOBODY = 0x7fff_fffe;
/** A service that is not there, and the one of buckets. */
const NO_SERVICE = 200;
const BUCKET = 1;

const control = new Channel(socketTransport(new Socket({ fd: CONTROL_FD }), false), 'isolate', {
  onOpen: exchange => exchange.fail('Not supported'),
  onSignal(lease, kind, payload) {
    if (kind === Control.Settings) control.signal(0, Control.Ready, '');
    else if (kind === Control.Ping) control.signal(0, Control.Pong, '');
    else if (kind === Control.Start) startIsolate(payload.readUInt32LE(0));
    else if (kind === Control.End) control.signal(lease, Control.Ended, 'closed\n');
  },
  onClose: () => process.exit(0),
});

/** One connection of an isolate. */
function startIsolate(fd: number): void {
  const socket = new Socket({ fd });
  const channel = new Channel(socketTransport(socket, false), 'isolate', {
    onOpen(exchange, kind, head) {
      if (kind === HostOpens.Warm) exchange.reply(200, '', true, null, true);
      else if (kind === HostOpens.Load) {
        const answer = JSON.stringify({ kind: 'loaded', handlers: ['fetch'], startupTimeMs: 1 });
        exchange.reply(200, answer, true, null, true);
      } else serve(channel, socket, exchange, head);
    },
    onSignal() {},
    onClose: () => socket.destroy(),
  });
}

function serve(channel: Channel, socket: Socket, exchange: Exchange, head: string): void {
  const [, url = ''] = head.split('\n');
  const name = new URL(url).searchParams.get('flood');
  if (name === null) {
    exchange.reply(200, 'OK', false, 'taken over', true);
    channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
    return;
  }
  const flood = FLOODS[name];
  if (flood === undefined) throw new Error(`There is no flood "${name}"`);
  const state = { isFinished: false };
  exchange.listener = {
    onReply() {},
    onData() {},
    onCredit() {},
    onSent() {},
    onStop() {},
    onFail() {
      state.isFinished = true;
    },
  };
  socket.once('close', () => {
    state.isFinished = true;
  });
  void flood(new Flooding(socket, exchange.id, state)).then(() => {
    // The invocation is over for the host, and a new request begins the next flood.
    if (!socket.destroyed) channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
  });
}

/** Writes frames as fast as the host reads them, for as long as the invocation lives. */
class Flooding {
  readonly invocation: number;
  readonly #socket: Socket;
  readonly #state: { isFinished: boolean };

  constructor(socket: Socket, invocation: number, state: { isFinished: boolean }) {
    this.#socket = socket;
    this.invocation = invocation;
    this.#state = state;
  }

  get isFinished(): boolean {
    return this.#state.isFinished || this.#socket.destroyed;
  }

  /** Resolves when there is room for more. */
  send(bytes: Buffer): Promise<void> {
    if (this.isFinished || this.#socket.write(bytes)) return new Promise(resolve => setImmediate(resolve));
    return new Promise(resolve => {
      const go = (): void => {
        this.#socket.off('drain', go);
        this.#socket.off('close', go);
        resolve();
      };
      this.#socket.on('drain', go);
      this.#socket.on('close', go);
    });
  }

  /** Until the invocation is over. */
  over(): Promise<void> {
    return new Promise(resolve => {
      const timer = setInterval(() => {
        if (!this.isFinished) return;
        clearInterval(timer);
        resolve();
      }, 10);
    });
  }
}

/** Frames of a writer as one buffer. */
function frames(write: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter();
  write(writer);
  return Buffer.concat(writer.take());
}

function frame(type: number, id: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt32LE(id, 5);
  return Buffer.concat([header, payload]);
}

function callHead(invocation: number, method: string, args: unknown): string {
  return `${invocation}\n${method}\nFILES\n${JSON.stringify(args)}`;
}

/** The same bytes over and over. */
async function repeat(flooding: Flooding, bytes: Buffer): Promise<void> {
  while (!flooding.isFinished) await flooding.send(bytes);
}

let nextId = 1;
const newId = (): number => {
  nextId += 2;
  return nextId;
};

/** Of a text that is dear to parse: far more than the host takes. */
const LONGEST = 8 * MEBIBYTE - 4096;
/** As much of it as the host takes, and parses. */
const LONGEST_TAKEN = 15 * 1024;

/** An object of so many bytes whose names are used once. */
function uniqueNames(bytes: number): string {
  const names: string[] = [];
  for (let length = 0, at = 0; length < bytes - 32; at++) {
    const name = `"${at.toString(36)}":0`;
    names.push(name);
    length += name.length + 1;
  }
  return `{${names.join()}}`;
}

const FLOODS: Readonly<Record<string, (flooding: Flooding) => Promise<void>>> = {
  notes(flooding) {
    const note = frame(FrameType.Signal, NOBODY, Buffer.alloc(1));
    return repeat(flooding, Buffer.concat(Array.from({ length: Math.floor(WRITE_BYTES / note.length) }, () => note)));
  },

  'opens-again'(flooding) {
    const head = callHead(flooding.invocation, 'x', {});
    const ids = Array.from({ length: 2000 }, newId);
    const bytes = frames(writer => {
      for (const id of ids) writer.open(id, NO_SERVICE, head, true, null, true);
    });
    return repeat(flooding, bytes);
  },

  async 'opens-fresh'(flooding) {
    const head = callHead(flooding.invocation, 'x', {});
    while (!flooding.isFinished) {
      const bytes = frames(writer => {
        for (let at = 0; at < 2000; at++) writer.open(newId(), NO_SERVICE, head, true, null, true);
      });
      await flooding.send(bytes);
    }
  },

  failures(flooding) {
    const values = '[],'.repeat(Math.floor(LONGEST / 3));
    const failure = `{"code":"EDGE_HANDLER_THREW","name":"","message":"","stack":"","x":[${values}0]}`;
    const payload = Buffer.concat([Buffer.of(SignalKind.HandlerFailed), Buffer.from(failure, 'latin1')]);
    return repeat(flooding, frame(FrameType.Signal, flooding.invocation, payload));
  },

  async 'one-open'(flooding) {
    const head = `${flooding.invocation}\nput\nFILES\n${uniqueNames(LONGEST)}`;
    await flooding.send(frames(writer => writer.open(newId(), BUCKET, head, false, null, true)));
    await flooding.over();
  },

  async 'dear-heads'(flooding) {
    const head = `${flooding.invocation}\ncreateMultipartUpload\nFILES\n${uniqueNames(LONGEST_TAKEN)}`;
    while (!flooding.isFinished) {
      await flooding.send(
        frames(writer => {
          for (let at = 0; at < 16; at++) writer.open(newId(), BUCKET, head, false, null, true);
        }),
      );
    }
  },

  logs(flooding) {
    const note = frame(FrameType.Signal, flooding.invocation, Buffer.from([SignalKind.Log, 1, 120]));
    return repeat(flooding, Buffer.concat(Array.from({ length: Math.floor(WRITE_BYTES / note.length) }, () => note)));
  },

  async stderr(flooding) {
    const piece = Buffer.alloc(PIECE_BYTES, 'x');
    while (!flooding.isFinished) {
      await new Promise(resolve => process.stderr.write(piece, resolve));
      await new Promise(resolve => setImmediate(resolve));
    }
  },

  /** As many as an invocation may make, each with as much of a body as may be under way before it is read. */
  async 'waiting-calls'(flooding) {
    for (let at = 0; at < 1000 && !flooding.isFinished; at++) {
      const id = newId();
      const head = callHead(flooding.invocation, 'put', { key: `key-${at}` });
      await flooding.send(
        frames(writer => {
          writer.open(id, BUCKET, head, true, null, false);
          writer.data(id, Buffer.alloc(PIECE_BYTES));
        }),
      );
    }
    await flooding.over();
  },

  /** Chunks of bodies behind large frames of no exchange: they may be kept as views of the buffer that held both. */
  async 'pinned-buffers'(flooding) {
    const large = frame(FrameType.Signal, NOBODY, Buffer.alloc(LONGEST));
    const piece = Buffer.alloc(PIECE_BYTES / 4);
    for (let call = 0; call < 900 && !flooding.isFinished; call++) {
      const id = newId();
      const head = callHead(flooding.invocation, 'put', { key: `key-${call}` });
      await flooding.send(frames(writer => writer.open(id, BUCKET, head, true, null, false)));
      for (let at = 0; at < 4; at++) {
        await flooding.send(Buffer.concat([large, frames(writer => writer.data(id, piece))]));
      }
    }
    await flooding.over();
  },
};
