/** A stream of node:zlib in the host realm, by its number. */
import { Op } from '../../../isolate/ops/table.ts';
import { op, opAsync, opNumber } from '../../bridge.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { codeError } from '../errors.ts';
import { CODES, type ZlibFormat } from './formats.ts';
import type { CheckedOptions } from './zlib-options.ts';

const PIECE_BYTES = 65_536;
const NOTHING = new Uint8Array(0);
/** For the host: the input is over, see Flush in src/isolate/ops/node/zlib/stream-codec.ts. */
const FINISH = -1;

export class GuestCodec {
  readonly #token = new Uint8Array(0);
  readonly #id: number;
  #isClosed = false;

  constructor(format: ZlibFormat, options: CheckedOptions) {
    this.#id = opNumber(Op.ZlibOpen, format, options.json, options.dictionary, this.#token);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Bytes of input that were processed; undefined when the host has closed it after an error. */
  get bytesWritten(): number | undefined {
    try {
      return opNumber(Op.ZlibWritten, this.#id);
    } catch {
      return undefined;
    }
  }

  /** Writes bytes and flushes, and gives each piece of output to `each`. */
  async write(bytes: Uint8Array, flush: number, isLast: boolean, each: (piece: NodeBuffer) => void): Promise<void> {
    let at = 0;
    do {
      const end = Math.min(at + PIECE_BYTES, bytes.byteLength);
      const isEnd = end === bytes.byteLength;
      const kind = isEnd ? (isLast ? FINISH : flush) : 0;
      await this.#step(bytes.subarray(at, end), kind, each);
      at = end;
    } while (at < bytes.byteLength);
  }

  async #step(bytes: Uint8Array, flush: number, each: (piece: NodeBuffer) => void): Promise<void> {
    let input = bytes;
    let kind = flush;
    for (;;) {
      if (this.#isClosed) throw codeError(Error, 'ERR_STREAM_DESTROYED', 'The stream was closed');
      let output: Uint8Array;
      try {
        output = (await opAsync(Op.ZlibWrite, this.#id, input, kind)) as Uint8Array; // as the op table says
      } catch (error) {
        throw withErrno(error);
      }
      if (output.byteLength === 0) return;
      each(Buffer.from(output.buffer));
      input = NOTHING;
      // The host continues until the end has come.
      kind = flush === FINISH ? FINISH : 0;
    }
  }

  async params(level: number, strategy: number): Promise<void> {
    await opAsync(Op.ZlibParams, this.#id, level, strategy);
  }

  reset(): void {
    op(Op.ZlibReset, this.#id);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      op(Op.ZlibClose, this.#id);
    } catch {
      // The host has closed it after an error.
    }
  }
}

/** Errors of zlib have the number of their code, too. */
export function withErrno(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const { code } = error as { code?: unknown }; // read as unknown and checked
  const errno = typeof code === 'string' ? CODES[code] : undefined;
  if (errno !== undefined)
    Object.defineProperty(error, 'errno', { value: errno, enumerable: true, writable: true, configurable: true });
  if (code !== undefined)
    Object.defineProperty(error, 'code', { value: code, enumerable: true, writable: true, configurable: true });
  return error;
}
