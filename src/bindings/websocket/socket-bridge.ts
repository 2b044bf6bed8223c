/**
 * Joins a WebSocket of the network to the records of an isolate. It reads from the network as fast as the isolate takes messages, and from the isolate as
 * fast as the network takes them; what it holds between the two is counted to the account. It knows no invocation: whoever owns the records may change.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { guarded } from '../../quotas/guarded.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { AccountPace, type PacedSocket } from './account-pace.js';
import { countAssembly } from './assembly-budget.js';
import type { BridgeOwner, BridgeWork, MessageOwner } from './bridge-owner.js';
import { closeRecord, lostRecord, RecordError, RecordReader, recordHead, writeRecordHead } from './record-codec.js';
import { CloseCode, RECORD_HEAD_BYTES, RecordKind } from './wire.js';
import { SOCKET_BOUNDS } from './ws-options.js';

/** Node's memory for a chunk besides its bytes. */
const CHUNK_BYTES = 256;
/** Headers of frames that were not counted exactly, and the beginning of a frame. It is part of the counted bytes of each socket. */
const UNCOUNTED_BYTES = 1024;
/** A socket with its parser, its sender and their buffers, beside what Node has for a connection. */
const SOCKET_BYTES = 8 * 1024;
/** The same without an invocation, which keeps what it has read and what it sends (measured with 2,000, Node 20.20: 4.4 KB, the connection included). */
const MESSAGE_SOCKET_BYTES = 4608;
/** The host's work for a message beside its chunk. */
const MESSAGE_MS = 0.004;
/** Reading a chunk is charged by the clock when it takes longer. */
const UNMEASURED_MS = 0.5;
/** A longer message is not copied into one buffer with others. */
const COPIED_BYTES = 16 * 1024;

export class SocketBridge implements PacedSocket {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #work: BridgeWork;
  readonly #owner: BridgeOwner | MessageOwner;
  readonly #maxMessageBytes: number;
  /** Made with the first record: many connections only receive, or sleep. */
  #reader: RecordReader | undefined;
  /** Messages that came with the chunk that is being read. */
  #batch: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  #batchBytes = 0;
  /** Pings and pongs that came with it. */
  #controls = 0;
  /** The bytes of messages that are not whole. */
  #assemblyBytes = 0;
  /** The listeners of ws that read chunks. */
  readonly #readers: readonly ((chunk: Buffer) => void)[];
  /** Chunks that wait until the account may have them read. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  /** The connection has ended: ws takes the rest of it by itself. */
  #isGone = false;
  readonly #isServer: boolean;
  readonly #pace: AccountPace;
  readonly #socketBytes: number;
  #chunkBytes = 0;
  #countedBytes = 0;
  #isFlushScheduled = false;
  /** The isolate takes no more for now. */
  #isBlocked = false;
  #isDraining = false;
  /** Messages have no reader any more. */
  #isDeaf = false;
  #isOver = false;
  #failure = '';
  /** Ends a connection that is closing. */
  #cutOff: NodeJS.Timeout | undefined;

  /** `isServer`: the other end is a client. */
  constructor(
    { ws, socket, isServer }: { readonly ws: WebSocket; readonly socket: Duplex; readonly isServer: boolean },
    work: BridgeWork,
    maxMessageBytes: number,
    owner: BridgeOwner | MessageOwner,
  ) {
    this.#isServer = isServer;
    this.#ws = ws;
    this.#socket = socket;
    this.#work = work;
    this.#pace = AccountPace.of(work.owner);
    this.#pace.add(this);
    this.#owner = owner;
    this.#socketBytes = 'message' in owner ? MESSAGE_SOCKET_BYTES : SOCKET_BYTES;
    this.#maxMessageBytes = maxMessageBytes;
    this.#count();
    // ws gets a chunk when the account may have it read.
    this.#readers = socket.listeners('data') as ((chunk: Buffer) => void)[]; // as the event calls them
    socket.on(
      'data',
      guarded((chunk: Buffer) => this.#chunkCame(chunk)),
    );
    for (const reader of this.#readers) socket.off('data', reader);
    socket.prependOnceListener('close', () => {
      this.#isGone = true;
    });
    // ws then waits indefinitely for an end that must still take something.
    socket.once(
      'end',
      guarded(() => this.#endSoon()),
    );
    ws.on(
      'message',
      guarded((data, isBinary) => this.#messageCame(data, isBinary)),
    );
    ws.on(
      'ping',
      guarded(data => this.#controlCame(data.length)),
    );
    ws.on(
      'pong',
      guarded(data => this.#controlCame(data.length)),
    );
    ws.on('error', error => {
      this.#failure = error.message;
    });
    ws.on(
      'close',
      guarded((code, reason) => this.#closed(code, reason)),
    );
  }

  // --- from the network to the isolate ---

  /** The isolate takes more. */
  resume(): void {
    this.#isBlocked = false;
    this.pauseOrResume();
  }

  /** Nothing is read for the isolate any more: messages are dropped. */
  deafen(): void {
    this.#isDeaf = true;
    this.#batch = [];
    this.#batchBytes = 0;
    this.resume();
  }

  /** Chunks of all connections of an account may be there at once: each is read only when those before have been charged. */
  #chunkCame(chunk: Buffer): void {
    if (this.#isGone) return;
    this.#work.charge(HOST_COSTS.chunkMs + costOf(chunk.length, HOST_COSTS.movedMbMs));
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length + CHUNK_BYTES;
    if (this.#pace.mayRead(this)) this.#readUnread();
    else {
      this.#count();
      this.pauseOrResume();
    }
  }

  #readUnread(): void {
    const chunks = this.#unread;
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#pace.begins();
    for (const chunk of chunks) if (!this.#isGone && !this.#read(chunk)) return;
    this.#count();
    this.#flushLater();
    this.#pace.read(this.#work);
  }

  /** False when the connection was ended, because the account holds too much. */
  #read(chunk: Buffer): boolean {
    const bytes = chunk.length + CHUNK_BYTES;
    this.#chunkBytes = bytes;
    if (!countAssembly(this.#work.owner, bytes)) {
      this.#failure = 'The account holds too much of messages that are not whole';
      this.#ws.close(CloseCode.TryAgain);
      this.#ws.terminate();
      return false;
    }
    this.#assemblyBytes += bytes;
    const messages = this.#batch.length + this.#controls;
    const began = performance.now();
    for (const reader of this.#readers) reader.call(this.#socket, chunk);
    const tookMs = performance.now() - began;
    // Frames of which many make one message are seen by the time that they take.
    if (tookMs > UNMEASURED_MS)
      this.#work.charge(Math.max(0, tookMs - MESSAGE_MS * (this.#batch.length + this.#controls - messages)));
    return true;
  }

  #messageCame(data: unknown, isBinary: boolean): void {
    // The type of what ws gives by default.
    if (!Buffer.isBuffer(data)) return;
    this.#isWhole(data.length);
    if (this.#isDeaf || this.#isOver) return;
    this.#batch.push({ data, isBinary });
    this.#batchBytes += data.length;
  }

  #controlCame(bytes: number): void {
    this.#controls++;
    this.#isWhole(bytes);
  }

  /** A frame of this payload is complete. The rest of the last chunk may belong to the next one. */
  #isWhole(bytes: number): void {
    const frameBytes = bytes + (bytes < 126 ? 2 : bytes < 65_536 ? 4 : 10) + (this.#isServer ? 4 : 0);
    const left = Math.min(this.#assemblyBytes - frameBytes, this.#chunkBytes);
    const kept = left > UNCOUNTED_BYTES ? left : 0;
    countAssembly(this.#work.owner, kept - this.#assemblyBytes);
    this.#assemblyBytes = kept;
  }

  #flushLater(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    process.nextTick(
      guarded(() => {
        this.#isFlushScheduled = false;
        this.#flush();
        this.#pace.read(this.#work);
        this.pauseOrResume();
      }),
    );
  }

  #flush(): void {
    const batch = this.#batch;
    if (this.#controls > 0) {
      this.#work.charge(MESSAGE_MS * this.#controls);
      this.#controls = 0;
    }
    if (batch.length > 0) {
      this.#batch = [];
      this.#batchBytes = 0;
      this.#work.charge(MESSAGE_MS * batch.length);
      this.#hand(batch);
    }
    this.#count();
  }

  /** Many small messages as one buffer; a large one as it is. */
  #hand(batch: readonly { readonly data: Buffer; readonly isBinary: boolean }[]): void {
    const owner = this.#owner;
    if ('message' in owner) {
      for (const { data, isBinary } of batch) if (!owner.message(data, isBinary)) this.#isBlocked = true;
      return;
    }
    let from = 0;
    for (const [index, { data, isBinary }] of batch.entries()) {
      if (data.length <= COPIED_BYTES) continue;
      this.#handCopies(batch.slice(from, index));
      from = index + 1;
      this.#give(recordHead(isBinary ? RecordKind.Binary : RecordKind.Text, data.length), 1);
      this.#give(data, 0);
    }
    this.#handCopies(from === 0 ? batch : batch.slice(from));
  }

  #handCopies(batch: readonly { readonly data: Buffer; readonly isBinary: boolean }[]): void {
    if (batch.length === 0) return;
    let bytes = 0;
    for (const { data } of batch) bytes += RECORD_HEAD_BYTES + data.length;
    const records = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (const { data, isBinary } of batch) {
      writeRecordHead(records, at, isBinary ? RecordKind.Binary : RecordKind.Text, data.length);
      records.set(data, at + RECORD_HEAD_BYTES);
      at += RECORD_HEAD_BYTES + data.length;
    }
    this.#give(records, batch.length);
  }

  #give(bytes: Uint8Array, messages: number): void {
    if ('records' in this.#owner && !this.#owner.records(bytes, messages)) this.#isBlocked = true;
  }

  /** Pings are answered, so a client that does not read is not read from either. */
  pauseOrResume(): void {
    if (this.#unread.length > 0 && this.#pace.mayRead(this)) this.#readUnread();
    this.#awaitDrain();
    if ((this.#isBlocked && !this.#isDeaf) || this.#isDraining || !this.#pace.mayRead(this)) {
      this.#ws.pause();
      if (!this.#isOver) this.#pace.paused(this);
    } else {
      this.#ws.resume();
      this.#pace.resumed(this);
    }
  }

  get waitingBytes(): number {
    return this.#unreadBytes + this.#socket.readableLength;
  }

  recount(): void {
    this.#count();
  }

  // --- from the isolate to the network ---

  /**
   * Records of the isolate. False: no more before `drained`.
   * @throws RecordError; the connection is then closed
   */
  receive(bytes: Buffer): boolean {
    if (this.#isOver) return true;
    this.#socket.cork();
    try {
      this.#reader ??= this.#createReader();
      this.#reader.read(bytes);
    } catch (error) {
      this.end(error instanceof RecordError && error.isTooLong ? CloseCode.TooBig : CloseCode.Internal, '');
      throw error;
    } finally {
      this.#socket.uncork();
    }
    this.#awaitDrain();
    this.#count();
    return !this.#isDraining;
  }

  #createReader(): RecordReader {
    const ws = this.#ws;
    return new RecordReader(this.#maxMessageBytes, {
      message: (part, binary, fin) => ws.send(part, { binary, fin, compress: false }),
      close: (code, reason) => (code === 0 ? ws.close() : ws.close(code, reason)),
    });
  }

  /** The bytes that the network has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Ends it at once: the other end does not read. */
  drop(why: string): void {
    this.#failure = why;
    this.#ws.close(CloseCode.TryAgain);
    this.#ws.terminate();
  }

  /** Closes from this side; does nothing when it is closing. */
  end(code: number, reason: string): void {
    this.deafen();
    this.#ws.close(code, reason);
    this.#endSoon();
  }

  #endSoon(): void {
    if (this.#isOver) return;
    this.#cutOff ??= setTimeout(() => this.#socket.destroy(), SOCKET_BOUNDS.closeMs).unref();
  }

  #awaitDrain(): void {
    if (this.#isDraining || !this.#socket.writableNeedDrain || this.#isOver) return;
    this.#isDraining = true;
    this.#socket.once(
      'drain',
      guarded(() => {
        this.#isDraining = false;
        this.#count();
        this.pauseOrResume();
        this.#owner.drained();
      }),
    );
  }

  // --- the end ---

  #closed(code: number, reason: Buffer): void {
    this.#flush();
    this.#isOver = true;
    this.#pace.remove(this);
    this.#unread = [];
    this.#unreadBytes = 0;
    clearTimeout(this.#cutOff);
    countAssembly(this.#work.owner, -this.#assemblyBytes);
    this.#assemblyBytes = 0;
    this.#count();
    const isClean = code !== CloseCode.Lost;
    if ('message' in this.#owner) {
      this.#owner.ended(code, reason.toString(), isClean ? '' : this.#failure);
      return;
    }
    const record = isClean ? closeRecord(code === CloseCode.None ? 0 : code, reason) : lostRecord(this.#failure);
    this.#owner.records(record, 0);
    this.#owner.closed(isClean);
  }

  #count(): void {
    const bytes = this.#isOver
      ? 0
      : this.#socketBytes + this.waitingBytes + this.#assemblyBytes + this.#batchBytes + this.#socket.writableLength;
    if (bytes === this.#countedBytes) return;
    this.#work.countBytes(bytes - this.#countedBytes);
    this.#countedBytes = bytes;
  }
}
