/**
 * The ops of node:zlib: Node's own functions, on copies of the guest's bytes. A stream makes output only as fast as the guest takes it. A call that waits for
 * all of its output has a bound by the memory that the isolate has left.
 */
import zlib from 'node:zlib';
import { checkedInteger, checkedText, copyIn, OpError } from '../../arguments.js';
import { Handles } from '../../handles.js';
import type { OpContext, OpSet } from '../../op-set.js';
import { Op } from '../../table.js';
import { toOpError } from '../node-error.js';
import { stateBytes, typicalMs, worstMs } from './costs.js';
import { createStream, FORMATS, type Format, readOptions, runSync, type ZlibOptions } from './formats.js';
import { Flush, StreamCodec } from './stream-codec.js';

const MAX_JSON = 4096;
const MAX_BYTES = 0x7fff_ffff;
const MAX_CHUNK_BYTES = 65_536;
const MAX_DICTIONARY_BYTES = 1024 * 1024;
const MAX_STREAMS = 64;
/** Handing a step to another thread and back. */
const STEP_MS = 0.01;
/** The output of a call in one piece exists three times: as pieces, as their sum, and as the guest's copy. */
const COPIES = 3;

interface Opened {
  readonly codec: StreamCodec;
  readonly format: Format;
  readonly options: ZlibOptions;
}

function formatOf(value: unknown): Format {
  const format = FORMATS[checkedInteger(value, 0, FORMATS.length - 1)];
  if (format === undefined) throw new OpError('TypeError', 'There is no such format');
  return format;
}

export function nodeZlibOps(context: OpContext): OpSet {
  const streams = new Handles<Opened>('stream of node:zlib', MAX_STREAMS, bytes => context.hold(bytes));

  const close = (id: unknown, opened: Opened): void => {
    streams.delete(id);
    opened.codec.close();
  };
  const dictionaryOf = (value: unknown): Uint8Array | undefined =>
    value === undefined ? undefined : copyIn(value, MAX_DICTIONARY_BYTES);

  return {
    [Op.ZlibSync]: (number, json, bytes, dictionary) => {
      const format = formatOf(number);
      const text = checkedText(json, MAX_JSON);
      const options = readOptions(format, text, dictionaryOf(dictionary));
      const input = copyIn(bytes, MAX_BYTES);
      const asked: unknown = Reflect.get(JSON.parse(text), 'maxOutputLength');
      const chargedMs = typicalMs(format, options, input.length);
      context.charge(chargedMs);
      const state = stateBytes(format, options);
      context.reserve(state);
      try {
        const room = Math.max(1, Math.floor(context.room() / COPIES));
        const maxOutputLength = typeof asked === 'number' && asked >= 1 ? Math.min(asked, room) : room;
        return context.leaveBytes(runSync(format, input, { ...options, maxOutputLength }));
      } catch (error) {
        throw toOpError(error);
      } finally {
        context.hold(-state);
        // The clock of this thread shows its work.
        context.settle(context.currentInvocation(), -chargedMs);
      }
    },
    [Op.ZlibOpen]: (number, json, dictionary, token) => {
      const format = formatOf(number);
      const options = readOptions(format, checkedText(json, MAX_JSON), dictionaryOf(dictionary));
      const bytes = stateBytes(format, options);
      // Handles count it when the stream is there.
      context.reserve(bytes);
      context.hold(-bytes);
      try {
        return streams.add({ codec: new StreamCodec(createStream(format, options)), format, options }, token, bytes);
      } catch (error) {
        throw toOpError(error);
      }
    },
    [Op.ZlibWrite]: (id, bytes, flush) => {
      const opened = streams.get(id);
      const { codec, format, options } = opened;
      const input = copyIn(bytes, MAX_CHUNK_BYTES);
      const kind = checkedInteger(flush, Flush.Finish, 6);
      const chargedMs = STEP_MS + typicalMs(format, options, input.length);
      context.charge(chargedMs);
      const invocation = context.currentInvocation();
      const beganMs = performance.now();
      const settle = (outputBytes: number): void => {
        const mostMs = STEP_MS + worstMs(format, options, input.length, outputBytes);
        context.settle(invocation, Math.min(performance.now() - beganMs, mostMs) - chargedMs);
      };
      const work = codec.step(input, kind).then(
        output => {
          settle(output.length);
          return output;
        },
        (error: unknown) => {
          settle(0);
          close(id, opened);
          throw toOpError(error);
        },
      );
      return context.begin(work);
    },
    [Op.ZlibParams]: (id, level, strategy) => {
      const { codec } = streams.get(id);
      const work = codec.params(checkedInteger(level, -1, 9), checkedInteger(strategy, 0, 4));
      return context.begin(
        work.catch((error: unknown) => {
          throw toOpError(error);
        }),
      );
    },
    [Op.ZlibReset]: id => {
      streams.get(id).codec.reset();
      return undefined;
    },
    [Op.ZlibWritten]: id => streams.get(id).codec.bytesWritten,
    [Op.ZlibClose]: id => {
      close(id, streams.get(id));
      return undefined;
    },
    [Op.ZlibCrc32]: (bytes, value) => {
      const crc32: unknown = Reflect.get(zlib, 'crc32');
      if (typeof crc32 !== 'function') throw new OpError('Error', 'crc32() needs a newer version of Node');
      return Number(Reflect.apply(crc32, zlib, [copyIn(bytes, MAX_BYTES), checkedInteger(value, 0, 0xffff_ffff)]));
    },
  };
}
