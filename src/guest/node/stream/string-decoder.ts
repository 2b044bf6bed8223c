/** node:string_decoder: text of bytes that come in pieces, with characters across them. @see https://nodejs.org/api/string_decoder.html */
import { viewOf } from '../../web/base/buffers.ts';
import { Buffer } from '../buffer/buffer.ts';
import { decode, type Encoding, encodingOf } from '../buffer/encodings.ts';
import { codeError, invalidArgType } from '../errors.ts';
import { inspect } from '../util/inspect.ts';

interface Decoder {
  readonly encoding: string;
}

interface State {
  readonly encoding: Encoding;
  /** The first bytes of a character, or of a group of base64 digits. */
  tail: Uint8Array;
  /** How many bytes the character needs in all. */
  total: number;
}

const states = new WeakMap<object, State>();
const NONE = new Uint8Array(0);

function stateOf(decoder: Decoder): State {
  const state = states.get(decoder);
  if (state === undefined)
    throw codeError(TypeError, 'ERR_INVALID_THIS', 'Value of "this" must be of type StringDecoder');
  return state;
}

/** Code calls it without `new` too, on an object of its own. */
function construct(this: object, name: unknown): void {
  const encoding = name === undefined || name === null || name === '' ? 'utf8' : encodingOf(name);
  if (encoding === undefined) {
    const text = typeof name === 'string' ? name : inspect(name);
    throw codeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${text}`);
  }
  Object.defineProperty(this, 'encoding', { value: encoding, enumerable: true, writable: true, configurable: true });
  states.set(this, { encoding, tail: NONE, total: 0 });
}
Object.defineProperty(construct, 'name', { value: 'StringDecoder', configurable: true });
export const StringDecoder = construct as unknown as new (encoding?: unknown) => Decoder & typeof methods; // callable and a constructor

/** How many bytes at the end are the beginning of a character, and how many it has. */
function unfinished(bytes: Uint8Array, encoding: Encoding): readonly [length: number, total: number] {
  const { length } = bytes;
  if (encoding === 'base64' || encoding === 'base64url') return [length % 3, 3];
  if (encoding === 'utf16le') {
    const odd = length % 2;
    const high = length - odd >= 2 ? (bytes[length - odd - 1] ?? 0) : 0;
    // A first surrogate waits for the second.
    if (high >= 0xd8 && high <= 0xdb) return [odd + 2, 4];
    return [odd, 2];
  }
  if (encoding !== 'utf8') return [0, 0];
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const total =
      byte >= 0xf0 && byte <= 0xf7 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc0 && byte < 0xe0 ? 2 : 0;
    return total > back ? [back, total] : [0, 0];
  }
  return [0, 0];
}

const methods = {
  write(this: Decoder, chunk: unknown): string {
    if (typeof chunk === 'string') return chunk;
    if (!ArrayBuffer.isView(chunk)) throw invalidArgType('buf', ['Buffer', 'TypedArray', 'DataView'], chunk);
    const state = stateOf(this);
    let bytes = viewOf(chunk);
    if (bytes.length === 0) return '';
    if (state.tail.length > 0) bytes = Buffer.concat([state.tail, bytes]);
    const [left, total] = unfinished(bytes, state.encoding);
    const end = bytes.length - left;
    // A copy: the caller may change its bytes.
    state.tail = left === 0 ? NONE : bytes.slice(end);
    state.total = total;
    return end === 0 ? '' : decode(bytes.subarray(0, end), state.encoding);
  },
  end(this: Decoder, chunk?: unknown): string {
    const text = chunk === undefined ? '' : methods.write.call(this, chunk);
    const state = stateOf(this);
    const { tail, encoding } = state;
    state.tail = NONE;
    return tail.length === 0 ? text : text + decode(tail, encoding);
  },
  text(this: Decoder, bytes: Uint8Array, offset: number): string {
    stateOf(this).tail = NONE;
    return methods.write.call(this, bytes.subarray(offset));
  },
};
Object.assign(StringDecoder.prototype, methods);
Object.defineProperties(StringDecoder.prototype, {
  lastChar: {
    get(this: Decoder) {
      const bytes = Buffer.alloc(4);
      bytes.set(stateOf(this).tail);
      return bytes;
    },
    enumerable: true,
    configurable: true,
  },
  lastNeed: {
    get(this: Decoder) {
      const { tail, total } = stateOf(this);
      return tail.length === 0 ? 0 : total - tail.length;
    },
    enumerable: true,
    configurable: true,
  },
  lastTotal: {
    get(this: Decoder) {
      const { tail, total } = stateOf(this);
      return tail.length === 0 ? 0 : total;
    },
    enumerable: true,
    configurable: true,
  },
});

export default { StringDecoder };
