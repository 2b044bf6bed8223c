/** Web Crypto, with the algorithms that the Node version of the host has. */

interface Crypto {
  readonly subtle: SubtleCrypto;
  /** Digests the bytes that are written: `await readable.pipeTo(stream); await stream.digest`. */
  readonly DigestStream: {
    prototype: DigestStream;
    new (algorithm: DigestAlgorithm | { readonly name: DigestAlgorithm }): DigestStream;
  };
  /** At most 65,536 bytes at once. */
  getRandomValues<
    T extends
      | Int8Array
      | Uint8Array
      | Uint8ClampedArray
      | Int16Array
      | Uint16Array
      | Int32Array
      | Uint32Array
      | BigInt64Array
      | BigUint64Array,
  >(array: T): T;
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
}
declare var Crypto: { prototype: Crypto };
declare var crypto: Crypto;

/** In upper or lower case. */
type DigestAlgorithm = 'MD5' | 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512' | (string & {});

interface DigestStream extends WritableStream<BufferSource | string> {
  readonly digest: Promise<ArrayBuffer>;
  readonly bytesWritten: number;
}

type KeyFormat = 'jwk' | 'pkcs8' | 'raw' | 'spki';
type KeyType = 'private' | 'public' | 'secret';
type KeyUsage =
  | 'decrypt'
  | 'deriveBits'
  | 'deriveKey'
  | 'encrypt'
  | 'sign'
  | 'unwrapKey'
  | 'verify'
  | 'wrapKey'
  /** Usages that later versions of Node add. */
  | (string & {});

interface KeyAlgorithm {
  name: string;
}

interface AesKeyAlgorithm extends KeyAlgorithm {
  length: number;
}

interface EcKeyAlgorithm extends KeyAlgorithm {
  namedCurve: string;
}

interface HmacKeyAlgorithm extends KeyAlgorithm {
  hash: KeyAlgorithm;
  length: number;
}

interface RsaKeyAlgorithm extends KeyAlgorithm {
  modulusLength: number;
  publicExponent: Uint8Array<ArrayBuffer>;
}

interface RsaHashedKeyAlgorithm extends RsaKeyAlgorithm {
  hash: KeyAlgorithm;
}

interface CryptoKey {
  readonly algorithm: KeyAlgorithm;
  readonly extractable: boolean;
  readonly type: KeyType;
  readonly usages: KeyUsage[];
}
declare var CryptoKey: { prototype: CryptoKey };

interface CryptoKeyPair {
  privateKey: CryptoKey;
  publicKey: CryptoKey;
}

interface JsonWebKey {
  alg?: string;
  crv?: string;
  d?: string;
  dp?: string;
  dq?: string;
  e?: string;
  ext?: boolean;
  k?: string;
  key_ops?: string[];
  kty?: string;
  n?: string;
  oth?: RsaOtherPrimesInfo[];
  p?: string;
  q?: string;
  qi?: string;
  use?: string;
  x?: string;
  y?: string;
}

interface RsaOtherPrimesInfo {
  d?: string;
  r?: string;
  t?: string;
}

interface Algorithm {
  name: string;
}

type AlgorithmIdentifier = Algorithm | string;
type HashAlgorithmIdentifier = AlgorithmIdentifier;

interface AesCbcParams extends Algorithm {
  iv: BufferSource;
}

interface AesCtrParams extends Algorithm {
  counter: BufferSource;
  length: number;
}

interface AesGcmParams extends Algorithm {
  additionalData?: BufferSource;
  iv: BufferSource;
  tagLength?: number;
}

interface AesKeyGenParams extends Algorithm {
  length: number;
}

interface EcKeyGenParams extends Algorithm {
  namedCurve: string;
}

interface EcKeyImportParams extends Algorithm {
  namedCurve: string;
}

interface EcdhKeyDeriveParams extends Algorithm {
  public: CryptoKey;
}

interface EcdsaParams extends Algorithm {
  hash: HashAlgorithmIdentifier;
}

interface HkdfParams extends Algorithm {
  hash: HashAlgorithmIdentifier;
  info: BufferSource;
  salt: BufferSource;
}

interface HmacImportParams extends Algorithm {
  hash: HashAlgorithmIdentifier;
  length?: number;
}

interface HmacKeyGenParams extends Algorithm {
  hash: HashAlgorithmIdentifier;
  length?: number;
}

interface Pbkdf2Params extends Algorithm {
  hash: HashAlgorithmIdentifier;
  iterations: number;
  salt: BufferSource;
}

interface RsaHashedImportParams extends Algorithm {
  hash: HashAlgorithmIdentifier;
}

interface RsaKeyGenParams extends Algorithm {
  modulusLength: number;
  publicExponent: Uint8Array;
}

interface RsaHashedKeyGenParams extends RsaKeyGenParams {
  hash: HashAlgorithmIdentifier;
}

interface RsaOaepParams extends Algorithm {
  label?: BufferSource;
}

interface RsaPssParams extends Algorithm {
  saltLength: number;
}

type CipherAlgorithm = AlgorithmIdentifier | RsaOaepParams | AesCtrParams | AesCbcParams | AesGcmParams;
type SignAlgorithm = AlgorithmIdentifier | RsaPssParams | EcdsaParams;
type DeriveAlgorithm = AlgorithmIdentifier | EcdhKeyDeriveParams | HkdfParams | Pbkdf2Params;
type ImportAlgorithm =
  | AlgorithmIdentifier
  | RsaHashedImportParams
  | EcKeyImportParams
  | HmacImportParams
  | AesKeyAlgorithm;

interface SubtleCrypto {
  encrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  decrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  sign(algorithm: SignAlgorithm, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  verify(algorithm: SignAlgorithm, key: CryptoKey, signature: BufferSource, data: BufferSource): Promise<boolean>;
  digest(algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer>;
  generateKey(
    algorithm: 'Ed25519' | 'X25519' | { name: 'Ed25519' | 'X25519' } | RsaHashedKeyGenParams | EcKeyGenParams,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKeyPair>;
  generateKey(
    algorithm: AesKeyGenParams | HmacKeyGenParams,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  generateKey(
    algorithm: AlgorithmIdentifier,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey | CryptoKeyPair>;
  deriveKey(
    algorithm: DeriveAlgorithm,
    baseKey: CryptoKey,
    derivedKeyType: AlgorithmIdentifier | AesKeyGenParams | HmacImportParams,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  deriveBits(algorithm: DeriveAlgorithm, baseKey: CryptoKey, length?: number | null): Promise<ArrayBuffer>;
  importKey(
    format: 'jwk',
    keyData: JsonWebKey,
    algorithm: ImportAlgorithm,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  importKey(
    format: Exclude<KeyFormat, 'jwk'>,
    keyData: BufferSource,
    algorithm: ImportAlgorithm,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  importKey(
    format: KeyFormat,
    keyData: JsonWebKey | BufferSource,
    algorithm: ImportAlgorithm,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  exportKey(format: 'jwk', key: CryptoKey): Promise<JsonWebKey>;
  exportKey(format: Exclude<KeyFormat, 'jwk'>, key: CryptoKey): Promise<ArrayBuffer>;
  exportKey(format: KeyFormat, key: CryptoKey): Promise<ArrayBuffer | JsonWebKey>;
  wrapKey(
    format: KeyFormat,
    key: CryptoKey,
    wrappingKey: CryptoKey,
    wrapAlgorithm: CipherAlgorithm,
  ): Promise<ArrayBuffer>;
  unwrapKey(
    format: KeyFormat,
    wrappedKey: BufferSource,
    unwrappingKey: CryptoKey,
    unwrapAlgorithm: CipherAlgorithm,
    unwrappedKeyAlgorithm: ImportAlgorithm,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  /** Whether two buffers of one length have the same bytes, in a time that does not depend on where they differ. */
  timingSafeEqual(a: BufferSource, b: BufferSource): boolean;
}
declare var SubtleCrypto: { prototype: SubtleCrypto };
