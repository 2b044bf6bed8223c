/** X509Certificate, and Certificate for signed public keys of browsers. @see https://nodejs.org/api/crypto.html#class-x509certificate */

import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkString, invalidArgType } from '../errors.ts';
import { encoded, toBytes } from './bytes.ts';
import { call } from './calls.ts';
import { isKeyObject, type KeyObject } from './key-object.ts';

interface Read {
  readonly ca: boolean;
  readonly keyUsage?: readonly string[] | null;
  readonly raw: NodeBuffer;
  readonly pem: string;
  readonly [name: string]: unknown;
}

let isCertificate: (value: unknown) => value is X509Certificate;

export class X509Certificate {
  readonly #raw: NodeBuffer;
  readonly #read: Read;
  #publicKey: KeyObject | undefined;

  constructor(buffer: unknown) {
    if (typeof buffer !== 'string' && !isBufferSource(buffer)) {
      throw invalidArgType('buffer', ['string', 'Buffer', 'TypedArray', 'DataView'], buffer);
    }
    this.#read = call('readCertificate', typeof buffer === 'string' ? buffer : viewOf(buffer)) as Read; // what the call answers
    this.#raw = this.#read.raw;
  }

  get ca(): boolean {
    return this.#read.ca;
  }

  get keyUsage(): string[] | undefined {
    const usage = this.#read.keyUsage;
    return usage === null || usage === undefined ? undefined : [...usage];
  }

  get raw(): NodeBuffer {
    return Buffer.from(this.#raw);
  }

  get publicKey(): KeyObject {
    this.#publicKey ??= call('certificateKey', this.#raw) as KeyObject; // as above
    return this.#publicKey;
  }

  get validFromDate(): Date {
    return new Date(this.#text('validFrom') ?? '');
  }

  get validToDate(): Date {
    return new Date(this.#text('validTo') ?? '');
  }

  checkHost(name: unknown, options?: unknown): unknown {
    checkString(name, 'name');
    return call('certificateCheck', this.#raw, 'checkHost', name, options) ?? undefined;
  }

  checkEmail(email: unknown, options?: unknown): unknown {
    checkString(email, 'email');
    return call('certificateCheck', this.#raw, 'checkEmail', email, options) ?? undefined;
  }

  checkIP(ip: unknown): unknown {
    checkString(ip, 'ip');
    return call('certificateCheck', this.#raw, 'checkIP', ip) ?? undefined;
  }

  checkIssued(other: unknown): boolean {
    if (!isCertificate(other)) throw invalidArgType('otherCert', 'X509Certificate', other);
    return call('certificateIssued', this.#raw, other.#raw) === true;
  }

  checkPrivateKey(key: unknown): boolean {
    if (!isKeyObject(key)) throw invalidArgType('pkey', 'KeyObject', key);
    return call('certificateMatches', this.#raw, key) === true;
  }

  verify(key: unknown): boolean {
    if (!isKeyObject(key)) throw invalidArgType('pkey', 'KeyObject', key);
    return call('certificateVerify', this.#raw, key) === true;
  }

  toLegacyObject(): unknown {
    return call('certificateLegacy', this.#raw);
  }

  toString(): string {
    return this.#read.pem;
  }

  toJSON(): string {
    return this.#read.pem;
  }

  #text(name: string): string | undefined {
    const value = this.#read[name];
    return typeof value === 'string' ? value : undefined;
  }

  static {
    isCertificate = (value): value is X509Certificate => typeof value === 'object' && value !== null && #raw in value;
    for (const name of textGetters()) {
      Object.defineProperty(X509Certificate.prototype, name, {
        get(this: X509Certificate) {
          return this.#text(name);
        },
        enumerable: false,
        configurable: true,
      });
    }
  }
}

/** Getters whose values are texts. In a function: the class needs it before the constants of the module are set. */
function textGetters(): readonly string[] {
  return [
    'fingerprint',
    'fingerprint256',
    'fingerprint512',
    'infoAccess',
    'issuer',
    'serialNumber',
    'signatureAlgorithm',
    'signatureAlgorithmOid',
    'subject',
    'subjectAltName',
    'validFrom',
    'validTo',
  ];
}

/** Node has these as static methods, and as methods of instances. */
export class Certificate {
  static exportChallenge(spkac: unknown, encoding?: unknown): unknown {
    return encoded(call('exportChallenge', toBytes(spkac, 'spkac', encoding)) as NodeBuffer, undefined); // what the call answers
  }

  static exportPublicKey(spkac: unknown, encoding?: unknown): unknown {
    return call('exportPublicKey', toBytes(spkac, 'spkac', encoding));
  }

  static verifySpkac(spkac: unknown, encoding?: unknown): boolean {
    return call('verifySpkac', toBytes(spkac, 'spkac', encoding)) === true;
  }

  exportChallenge(spkac: unknown, encoding?: unknown): unknown {
    return Certificate.exportChallenge(spkac, encoding);
  }

  exportPublicKey(spkac: unknown, encoding?: unknown): unknown {
    return Certificate.exportPublicKey(spkac, encoding);
  }

  verifySpkac(spkac: unknown, encoding?: unknown): boolean {
    return Certificate.verifySpkac(spkac, encoding);
  }
}
