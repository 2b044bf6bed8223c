/** A function of node:crypto as the guest may call it, and what it gets beside its arguments. */
import type {
  createCipheriv,
  createDecipheriv,
  DiffieHellman,
  DiffieHellmanGroup,
  ECDH,
  Hash,
  Hmac,
  Sign,
  Verify,
} from 'node:crypto';
import { OpError } from '../../arguments.js';

export interface CryptoCall {
  /** Keeps an object for later calls and answers its number. */
  keep(object: KeptObject): number;
  kept<K extends KeptKind>(id: unknown, kind: K): KeptValue<K>;
  /**
   * Charges the estimated CPU time before the work begins. Throws OpError when the invocation has less left. Work in the isolate's own thread is refunded
   * afterwards, because the clock of the thread shows it.
   */
  charge(ms: number): void;
  /** Memory outside of every heap, until the work is done. Throws OpError when the isolate has less left. */
  reserve(bytes: number): void;
  /** Throws in the global scope, where all instances of a function would get the same values. */
  requireInvocation(what: string): void;
}

/** Answers bytes, or a value for `encodeResult()`. Asynchronous methods answer a promise. */
export type CryptoMethod = (args: readonly unknown[], call: CryptoCall) => unknown;

export type MethodTable = Readonly<Record<string, CryptoMethod>>;

export type Cipher = ReturnType<typeof createCipheriv>;
export type Decipher = ReturnType<typeof createDecipheriv>;

/** Objects of node:crypto that a function works with in several calls. */
interface KeptValues {
  readonly hash: Hash | Hmac;
  readonly cipher: Cipher | Decipher;
  readonly sign: Sign;
  readonly verify: Verify;
  readonly dh: DiffieHellman | DiffieHellmanGroup;
  readonly ecdh: ECDH;
}

export type KeptKind = keyof KeptValues;

export type KeptObject = {
  [K in KeptKind]: {
    readonly kind: K;
    readonly value: KeptValues[K];
    /** The length of the tag that encryption ends with. */
    readonly tagLength?: number;
  };
}[KeptKind];

export type KeptValue<K extends KeptKind> = KeptValues[K];

/** An error as node:crypto makes it for a value out of bounds. */
export function outOfRange(name: string, allowed: string, given: unknown): OpError {
  return new OpError(
    'RangeError',
    `The value of "${name}" is out of range. It must be ${allowed}. Received ${String(given)}`,
    'ERR_OUT_OF_RANGE',
  );
}

/** For a number that the caller may leave out or give in a wrong type: Node checks the type. */
export function checkMost(name: string, value: unknown, most: number): void {
  if (typeof value === 'number' && value > most) throw outOfRange(name, `at most ${most} in a function`, value);
}

/** A member of decoded options, which are plain data of this realm. */
export function memberOf(options: unknown, name: string): unknown {
  return typeof options === 'object' && options !== null ? Reflect.get(options, name) : undefined;
}

export function numberIn(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && value > 0 ? value : otherwise;
}

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
