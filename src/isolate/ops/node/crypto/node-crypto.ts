/** The ops of node:crypto: Node's own functions, with bounds, on copies of the guest's bytes. Keys and objects stay here, and the guest has their numbers. */
import type { KeyObject, webcrypto } from 'node:crypto';
import { checkedText, copyIn, OpError } from '../../arguments.js';
import { Handles } from '../../handles.js';
import type { OpContext, OpSet } from '../../op-set.js';
import { Op } from '../../table.js';
import { toOpError } from '../node-error.js';
import { certificateMethods } from './certificates.js';
import { cipherMethods } from './ciphers.js';
import { asyncDerivationMethods, derivationMethods } from './derivation.js';
import { exchangeMethods } from './exchange.js';
import { hashMethods } from './hashes.js';
import { asyncKeyMethods, keyMethods } from './keys.js';
import type { Cipher, CryptoCall, Decipher, KeptKind, KeptObject, KeptValue, MethodTable } from './method.js';
import { asyncPrimeMethods, primeMethods } from './primes.js';
import { signingMethods } from './signing.js';
import { decodeArguments, encodeResult, type KeyTables } from './values.js';

const MAX_JSON = 1024 * 1024;
const MAX_BYTES = 0x7fff_ffff;
const MAX_KEYS = 20_000;
const MAX_OBJECTS = 4096;
/** Measured: 0.3 KB for a hash, 0.5 KB for a cipher, 1 KB for a key exchange of 2,048 bits. */
const OBJECT_BYTES = 1024;
const NOTHING = new Uint8Array(0);

const METHODS: MethodTable = {
  __proto__: null as never, // names come from the guest: none is inherited
  ...certificateMethods,
  ...cipherMethods,
  ...derivationMethods,
  ...exchangeMethods,
  ...hashMethods,
  ...keyMethods,
  ...primeMethods,
  ...signingMethods,
};
const ASYNC_METHODS: MethodTable = {
  __proto__: null as never, // as above
  ...asyncDerivationMethods,
  ...asyncKeyMethods,
  ...asyncPrimeMethods,
};

export function nodeCryptoOps(context: OpContext, cryptoKeys: Handles<webcrypto.CryptoKey>): OpSet {
  const hold = (bytes: number): void => context.hold(bytes);
  const tables: KeyTables = { keys: new Handles<KeyObject>('KeyObject', MAX_KEYS, hold), cryptoKeys };
  const objects = new Handles<KeptObject>('object of node:crypto', MAX_OBJECTS, hold);

  function kept(id: unknown, kind: KeptKind): KeptObject {
    const object = objects.get(id);
    if (object.kind !== kind) throw new OpError('TypeError', `The object is not of the kind "${kind}"`);
    return object;
  }

  function argumentsOf(json: unknown, bytes: unknown): unknown[] {
    const list: unknown = JSON.parse(checkedText(json, MAX_JSON));
    return decodeArguments(list, bytes === undefined ? new Uint8Array(0) : copyIn(bytes, MAX_BYTES), tables);
  }

  /** One call, with the time and memory that it has charged. */
  class Call implements CryptoCall {
    chargedMs = 0;
    reservedBytes = 0;
    readonly #token: unknown;

    constructor(token: unknown) {
      this.#token = token;
    }

    keep(object: KeptObject): number {
      return objects.add(object, this.#token, OBJECT_BYTES);
    }

    kept<K extends KeptKind>(id: unknown, kind: K): KeptValue<K> {
      return kept(id, kind).value as KeptValue<K>; // of that kind
    }

    charge(ms: number): void {
      context.charge(ms);
      this.chargedMs += ms;
    }

    reserve(bytes: number): void {
      context.reserve(bytes);
      this.reservedBytes += bytes;
    }

    requireInvocation(what: string): void {
      if (context.currentInvocation() !== 0) return;
      throw new OpError(
        'Error',
        `${what} cannot be made in the global scope; make it while a request is being handled`,
      );
    }

    release(): void {
      context.hold(-this.reservedBytes);
      this.reservedBytes = 0;
    }
  }

  async function settle(work: unknown, call: Call, invocation: number, token: unknown): Promise<string | Uint8Array> {
    const beganMs = performance.now();
    try {
      const result: unknown = await work;
      return bytesIn(result) ?? encodeResult(result, tables, token);
    } catch (error) {
      throw toOpError(error);
    } finally {
      call.release();
      // Work that was cheaper than its estimate: waiting for a thread makes it look more expensive, never cheaper.
      context.settle(invocation, Math.min(0, performance.now() - beganMs - call.chargedMs));
    }
  }

  return {
    [Op.NodeCrypto]: (method, json, bytes, token) => {
      const run = METHODS[checkedText(method, 32)];
      if (run === undefined) throw new OpError('NotSupportedError', 'There is no such function of node:crypto');
      const call = new Call(token);
      const args = argumentsOf(json, bytes);
      try {
        const result = run(args, call);
        const answer = bytesIn(result);
        return answer === undefined ? encodeResult(result, tables, token) : context.leaveBytes(answer);
      } catch (error) {
        throw toOpError(error);
      } finally {
        call.release();
        // The clock of this thread shows its work.
        if (call.chargedMs > 0) context.settle(context.currentInvocation(), -call.chargedMs);
      }
    },
    [Op.NodeCryptoAsync]: (method, json, bytes, token) => {
      const run = ASYNC_METHODS[checkedText(method, 32)];
      if (run === undefined) throw new OpError('NotSupportedError', 'There is no such function of node:crypto');
      const call = new Call(token);
      const work = run(argumentsOf(json, bytes), call);
      return context.begin(settle(work, call, context.currentInvocation(), token));
    },
    [Op.NodeCryptoUpdate]: (id, bytes) => {
      const { kind, value } = objects.get(id);
      const data = copyIn(bytes, MAX_BYTES);
      try {
        if (kind === 'cipher') return context.leaveBytes(value.update(data));
        if (kind === 'dh' || kind === 'ecdh') throw new OpError('TypeError', 'The object takes no data');
        value.update(data);
        return 0;
      } catch (error) {
        throw toOpError(error);
      }
    },
    [Op.NodeCryptoFinal]: id => {
      const object = objects.get(id);
      objects.delete(id);
      try {
        if (object.kind === 'hash') return context.leaveBytes(object.value.digest());
        if (object.kind === 'cipher') return context.leaveBytes(finished(object.value, object.tagLength));
      } catch (error) {
        throw toOpError(error);
      }
      throw new OpError('TypeError', 'The object has no result of its own');
    },
  };
}

/** The last output. Encryption that authenticates has its tag behind it. */
function finished(cipher: Cipher | Decipher, tagLength = 0): Uint8Array {
  const output = cipher.final();
  return tagLength > 0 ? Buffer.concat([output, tagOf(cipher)]) : output;
}

/** Node's types know it only by the name of the algorithm. */
function tagOf(cipher: object): Uint8Array {
  const tag: unknown = Reflect.apply(Object(Reflect.get(cipher, 'getAuthTag')), cipher, []);
  return bytesIn(tag) ?? NOTHING;
}

function bytesIn(result: unknown): Uint8Array | undefined {
  if (result instanceof Uint8Array) return result;
  return result instanceof ArrayBuffer ? new Uint8Array(result) : undefined;
}
