/**
 * Encodes a body step by step. As decoders do (bindings/egress/content-decoding.ts), encoders work on the threads that files and the database need too. So each
 * step waits for the account's turn, has a place in the queue of the threads, and is charged by what went in; the memory of an encoder is counted to its
 * account.
 */
import * as zlib from 'node:zlib';
import { guarded } from '../../../quotas/guarded.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { threadQueue } from '../../../quotas/host/threads.js';
import type { Coding } from './accepted-coding.js';

/** Memory of one encoder and of the chunks that it is about, measured on Node 20.20 and rounded up; zstd by its window and tables. */
const ENCODER_BYTES: Readonly<Record<Coding, number>> = { br: 896 * 1024, zstd: 1280 * 1024, gzip: 448 * 1024 };
/** The most open encoders of all accounts and hosts of the process together, and of one account. */
const MAX_OPEN = 256;
const MAX_OPEN_OF_ACCOUNT = 64;
const CHUNK_BYTES = 64 * 1024;
/** Qualities that are worth their time while a client waits. */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;
const ZSTD_LEVEL = 3;
/** A window of 256 KiB, whatever the body. */
const WINDOW_BITS = 18;

let open = 0;
const openOf = new WeakMap<HostShare, number>();

type Zlib = zlib.Gzip | zlib.BrotliCompress;

export class Encoder {
  readonly #coding: Coding;
  readonly #share: HostShare;
  readonly #zlib: Zlib;
  readonly #flushKind: number;
  #pieces: Buffer[] = [];
  #error: Error | undefined;
  #isDestroyed = false;
  #settle: (() => void) | undefined;

  /** Undefined when the account, or the host, has as many open as it may: then bodies go out as they are. */
  static open(coding: Coding, share: HostShare): Encoder | undefined {
    if (open >= MAX_OPEN || (openOf.get(share) ?? 0) >= MAX_OPEN_OF_ACCOUNT) return undefined;
    if (share.bytes.isUnderMemoryPressure) return undefined;
    return new Encoder(coding, share);
  }

  private constructor(coding: Coding, share: HostShare) {
    this.#coding = coding;
    this.#share = share;
    [this.#zlib, this.#flushKind] = create(coding);
    this.#zlib.on(
      'data',
      guarded((piece: Buffer) => this.#pieces.push(piece)),
    );
    this.#zlib.on(
      'error',
      guarded(error => {
        this.#error ??= error;
        this.#settle?.();
      }),
    );
    open++;
    openOf.set(share, (openOf.get(share) ?? 0) + 1);
    share.bytes.countBuffers(ENCODER_BYTES[coding]);
  }

  /** Resolves with the output so far, which may be none. */
  write(chunk: Buffer): Promise<readonly Buffer[]> {
    return this.#step(chunk.length, done => this.#zlib.write(chunk, done));
  }

  /** Resolves with all output that a decoder needs for the input so far. */
  flush(): Promise<readonly Buffer[]> {
    return this.#step(0, done => this.#zlib.flush(this.#flushKind, done));
  }

  /** Resolves with the last of the output. */
  async end(chunk?: Buffer): Promise<readonly Buffer[]> {
    try {
      // Not by the callback of end(), which may come before the last output.
      return await this.#step(chunk?.length ?? 0, done => this.#zlib.once('end', guarded(done)).end(chunk));
    } finally {
      this.destroy();
    }
  }

  /** Steps that wait resolve without output. */
  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#zlib.destroy();
    open--;
    openOf.set(this.#share, (openOf.get(this.#share) ?? 1) - 1);
    this.#share.bytes.countBuffers(-ENCODER_BYTES[this.#coding]);
    this.#settle?.();
  }

  async #step(bytes: number, begin: (done: () => void) => void): Promise<readonly Buffer[]> {
    const share = this.#share;
    const turn = share.turn();
    if (turn !== undefined) await turn;
    const ms = HOST_COSTS.encodeStepMs + costOf(bytes, HOST_COSTS.encodedMbMs[this.#coding]);
    const wait = threadQueue.enter(share, ms);
    if (wait !== undefined) await wait;
    try {
      if (!this.#isDestroyed) {
        share.charge(ms);
        await new Promise<void>(resolve => {
          this.#settle = resolve;
          begin(resolve);
        });
      }
    } finally {
      threadQueue.leave(share);
    }
    if (this.#error !== undefined) throw this.#error;
    // The rest of the stream goes to the listener.
    if (!this.#isDestroyed) this.#zlib.read();
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}

/** With what makes it hand on all that it has. */
function create(coding: Coding): [Zlib, number] {
  const { constants } = zlib;
  const common = { chunkSize: CHUNK_BYTES };
  if (coding === 'gzip') return [zlib.createGzip({ ...common, level: GZIP_LEVEL }), constants.Z_SYNC_FLUSH];
  if (coding === 'br') {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
    };
    return [zlib.createBrotliCompress({ ...common, params }), constants.BROTLI_OPERATION_FLUSH];
  }
  // The types are from Node 20, which has no zstd.
  const { createZstdCompress, constants: newer } = zlib as typeof zlib & {
    readonly createZstdCompress: (options: object) => Zlib;
    readonly constants: Readonly<Record<'ZSTD_c_compressionLevel' | 'ZSTD_c_windowLog' | 'ZSTD_e_flush', number>>;
  };
  const params = { [newer.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [newer.ZSTD_c_windowLog]: WINDOW_BITS };
  return [createZstdCompress({ ...common, params }), newer.ZSTD_e_flush];
}
