/** What operations of SubtleCrypto are charged: never less than what they take, and no amount of work is free. */
import { webcrypto } from 'node:crypto';
import test from 'ava';
import { cryptoCostMs, keyBytes } from '../../../../src/isolate/ops/web/crypto-cost.js';

const { subtle } = webcrypto;
const salt = new Uint8Array(16);

test('cryptoCostMs() grows with the iterations, the length and the salt of PBKDF2', t => {
  const cost = (iterations: number, bits: number, saltBytes = 16): number =>
    cryptoCostMs(
      'deriveBits',
      [{ name: 'PBKDF2', hash: 'SHA-256', iterations, salt: new Uint8Array(saltBytes) }, undefined, bits],
      saltBytes,
    );
  t.true(cost(1_000_000, 256) >= 200);
  t.true(cost(1_000_000, 512) >= 2 * 200);
  t.true(cost(1, 8 * 1024 * 1024) >= 32_768 * 0.0002);
  t.true(cost(1, 8 * 1024 * 1024, 1 << 20) >= 32_768 * 1.9);
});

test('cryptoCostMs() takes the algorithm by its name in any case, and the hash as a name or an object', t => {
  const algorithm = (name: string, hash: unknown) => ({ name, hash, iterations: 1000, salt });
  const expected = cryptoCostMs('deriveBits', [algorithm('PBKDF2', 'SHA-512'), undefined, 512], 16);
  t.is(cryptoCostMs('deriveBits', [algorithm('pbkdf2', { name: 'sha-512' }), undefined, 512], 16), expected);
});

test('cryptoCostMs() takes the length of a derived key, or the most that it can be', t => {
  const algorithm = { name: 'PBKDF2', hash: 'SHA-256', iterations: 100_000, salt };
  const cost = (derived: unknown): number => cryptoCostMs('deriveKey', [algorithm, undefined, derived], 16);
  t.true(cost({ name: 'AES-GCM', length: 256 }) >= 21);
  t.true(cost({ name: 'HMAC', hash: 'SHA-512' }) >= 4 * 21);
  t.true(cost({ name: 'HMAC', hash: 'SHA-512', length: 2560 }) >= 10 * 21);
});

test('cryptoCostMs() grows with the fourth power of the modulus that is generated', t => {
  const cost = (modulusLength: number): number => cryptoCostMs('generateKey', [{ name: 'RSA-PSS', modulusLength }], 3);
  t.true(cost(2048) >= 138);
  t.true(cost(4096) >= 1150);
  t.true(cost(16_384) > 60_000);
});

test('cryptoCostMs() tells private from public keys of RSA, and sees public exponents as long as the modulus', async t => {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048 };
  const pair = await subtle.generateKey({ ...algorithm, publicExponent: new Uint8Array([1, 0, 1]) }, true, [
    'sign',
    'verify',
  ]);
  const jwk = await subtle.exportKey('jwk', pair.publicKey);
  const long = await subtle
    .importKey('jwk', { ...jwk, e: jwk.n ?? '' }, algorithm, true, ['verify'])
    .catch(() => undefined);
  const cost = (key: webcrypto.CryptoKey): number => cryptoCostMs('verify', [algorithm.name, key, salt, salt], 32);
  t.true(cost(pair.privateKey) >= 0.34);
  t.true(cost(pair.publicKey) >= 0.0465 && cost(pair.publicKey) < cost(pair.privateKey));
  if (long !== undefined) t.true(cost(long) > cost(pair.privateKey));
});

test('cryptoCostMs() knows the curves', async t => {
  const measured = { 'P-256': 0.25, 'P-384': 3.2, 'P-521': 7.7 };
  for (const [namedCurve, ms] of Object.entries(measured)) {
    const pair = await subtle.generateKey({ name: 'ECDH', namedCurve }, true, ['deriveBits']);
    t.true(cryptoCostMs('deriveBits', [{ name: 'ECDH', public: pair.publicKey }, pair.privateKey, 256], 0) >= ms);
    t.true(cryptoCostMs('generateKey', [{ name: 'ECDH', namedCurve }], 0) >= ms);
  }
  t.true(cryptoCostMs('generateKey', [{ name: 'Ed25519' }], 0) >= 0.17);
  t.true(cryptoCostMs('generateKey', ['ML-KEM-768'], 0) >= 1);
});

test('cryptoCostMs() charges each byte, and every call', t => {
  t.true(cryptoCostMs('digest', ['SHA-512', new Uint8Array(1)], 1) > 0.01);
  t.true(cryptoCostMs('digest', ['SHA-512', new Uint8Array(1)], 564_000) >= 1);
});

test('cryptoCostMs() takes nonsense without failing', t => {
  for (const args of [
    [],
    [null],
    [undefined, 1, 'x'],
    [{ name: 7, iterations: 'many' }],
    [{ name: 'PBKDF2' }, {}, -1],
  ]) {
    for (const method of ['deriveBits', 'deriveKey', 'generateKey', 'sign']) {
      t.true(Number.isFinite(cryptoCostMs(method, args, 0)), `${method} ${JSON.stringify(args)}`);
    }
  }
});

test('keyBytes() counts the bytes of a key that is imported and the length of one that is made', t => {
  t.true(keyBytes(['raw', new Uint8Array(0), 'HMAC'], 1_000_000) >= 1_000_000);
  t.true(keyBytes([{ name: 'HMAC', length: 8 * 1024 * 1024 }], 0) >= 1024 * 1024);
  t.true(keyBytes([{ name: 'PBKDF2' }, undefined, { name: 'HMAC', length: 8000 }], 0) >= 1000);
});
