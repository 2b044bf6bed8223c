/**
 * How values travel between a function and the application: as JSON with tags for what JSON has not, with bytes and at most one stream as the body of the call.
 */

/** The method on the wire. */
export const CALL = 'call';

/** A value as it travels. */
export interface CallbackValue {
  /** JSON, or an array whose first item is a tag. */
  readonly v: unknown;
  /** The lengths of the byte sequences at the start of the body, in the order in which `v` has them. */
  readonly b: readonly number[];
  /** Whether the rest of the body is the stream of `v`. */
  readonly s: boolean;
}

/** The arguments on the wire. */
export interface CallbackCall extends CallbackValue {
  /** The name of the callback. */
  readonly f: string;
}

/** The answer on the wire: a value, or the name and the message of what the callback threw. */
export type CallbackReply = (CallbackValue | { readonly e: readonly [name: string, message: string] }) & {
  /** The time, for the clock of a run that may be paused. */
  readonly t?: number;
};

/**
 * First items of the arrays that stand for values. Objects are numbered as they come, for references.
 *
 *     ['a', ...items]  ['o', name, value, ...]  ['m', key, value, ...]  ['s', ...items]  ['e', name, message, cause?]
 *     ['b', class]  ['t']  ['d', milliseconds | null]  ['r', number of an object]  ['u']  ['n', text]  ['i', hexadecimal digits]
 */
export type Tag = 'a' | 'o' | 'm' | 's' | 'e' | 'b' | 't' | 'd' | 'r' | 'u' | 'n' | 'i';

export const MAX_DEPTH = 100;
/** The bound of a value as JSON, in each direction. */
export const MAX_VALUE_BYTES = 1024 * 1024;
/** The bound of the byte arrays beside it. A stream has none. */
export const MAX_BYTES = 16 * 1024 * 1024;
/** Byte sequences of one value. */
export const MAX_SEQUENCES = 1000;
/** Hexadecimal digits of a BigInt. */
export const MAX_BIGINT_DIGITS = 4096;
/** The longest array. */
export const MAX_ITEMS = 100_000;
/** Items, keys and properties of one value together. */
export const MAX_VALUES = 100_000;
/**
 * Objects of one value, arrays and BigInts among them. Each takes the application's process up to 3 us (Node 20.20), in one piece with all others
 * of the value, and six characters of JSON.
 */
export const MAX_OBJECTS = 10_000;
/**
 * Numbers and BigInts that may be keys of Maps and items of Sets, in one value. The engine hashes them without a secret: many that were chosen to
 * have the same hash would hold the application's process for seconds.
 */
export const MAX_NUMERIC_KEYS = 2000;

/** The message for a value that has more parts than these. */
export const TOO_MANY_PARTS = `A value of more than ${MAX_OBJECTS} objects, or ${MAX_VALUES} items and properties, cannot be passed: pass bytes, text or a stream`;
