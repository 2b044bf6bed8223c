import test from 'ava';
import { ISOLATIONS } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

const IMPORTS = `import * as crypto from 'node:crypto'; import { Buffer } from 'node:buffer';`;

test('hashes and HMACs are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `for (const name of ['md5', 'sha1', 'sha256', 'sha512', 'sha3-256', 'ripemd160']) print(crypto.createHash(name).update('abc').digest('hex'));
    print(crypto.createHash('shake256', { outputLength: 10 }).update('abc').digest('hex'));
    const hash = crypto.createHash('sha256').update('a'); const copy = hash.copy(); print(hash.update('b').digest('base64'), copy.digest('base64url'));
    attempt(() => copy.update('x')); attempt(() => copy.digest()); attempt(() => crypto.createHash('none')); attempt(() => crypto.createHash('md5').update(5));
    print(crypto.createHmac('sha256', 'key').update('a').update(Buffer.from('b')).digest('hex'));
    print(crypto.createHmac('sha256', crypto.createSecretKey(Buffer.from('key'))).update('ab').digest('hex'));
    print(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b')));
    attempt(() => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')));
    print(crypto.getHashes().length, crypto.getCiphers().length, crypto.getCurves().length);`,
  );
});

test('ciphers are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const key = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2);
    for (const name of ['aes-256-cbc', 'aes-256-ctr']) {
      const c = crypto.createCipheriv(name, key, iv); const text = c.update('grüße', 'utf8', 'hex') + c.final('hex');
      const d = crypto.createDecipheriv(name, key, iv); print(text, d.update(text, 'hex', 'utf8') + d.final('utf8'));
    }
    for (const name of ['aes-256-gcm', 'chacha20-poly1305']) {
      const nonce = iv.subarray(0, 12);
      const c = crypto.createCipheriv(name, key, nonce, { authTagLength: 16 }); c.setAAD(Buffer.from('aad'));
      const text = Buffer.concat([c.update('secret'), c.final()]); print(text.toString('hex'), c.getAuthTag().toString('hex'));
      const open = tag => { const d = crypto.createDecipheriv(name, key, nonce, { authTagLength: 16 }); d.setAAD(Buffer.from('aad')); d.setAuthTag(tag); return d.update(text, undefined, 'utf8') + d.final('utf8'); };
      print(open(c.getAuthTag())); attempt(() => open(Buffer.alloc(16)));
    }
    attempt(() => crypto.createCipheriv('aes-256-cbc', 'short', iv)); attempt(() => crypto.createCipheriv('none', key, iv));
    print(crypto.getCipherInfo('aes-128-gcm'), crypto.getCipherInfo('none'));`,
  );
});

test('derived keys are as in Node, by RFC 6070, RFC 7914 and RFC 5869', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `print(crypto.pbkdf2Sync('password', 'salt', 4096, 20, 'sha1').toString('hex'));
    print(crypto.scryptSync('password', 'NaCl', 64, { N: 1024, r: 8, p: 16 }).toString('hex'));
    print(Buffer.from(crypto.hkdfSync('sha256', Buffer.alloc(22, 0x0b), Buffer.from('000102030405060708090a0b0c', 'hex'), Buffer.from('f0f1f2f3f4f5f6f7f8f9', 'hex'), 42)).toString('hex'));
    print(await new Promise(resolve => crypto.scrypt('a', 'b', 8, (error, key) => resolve(error ?? key.toString('hex')))));
    print(await new Promise(resolve => crypto.pbkdf2('a', 'b', 10, 8, 'sha512', (error, key) => resolve(error ?? key.toString('hex')))));
    attempt(() => crypto.pbkdf2Sync('a', 'b', 1, 1, 'none')); attempt(() => crypto.pbkdf2Sync('a', 'b', 0, 1, 'sha1'));
    attempt(() => crypto.scryptSync('a', 'b', 8, { N: 3 }));`,
  );
});

test('key objects and signatures are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const pair = crypto.generateKeyPairSync('ed25519'); const data = Buffer.from('data');
    print(pair.publicKey.type, pair.publicKey.asymmetricKeyType, pair.privateKey instanceof crypto.KeyObject);
    const signature = crypto.sign(null, data, pair.privateKey); print(signature.length, crypto.verify(null, data, pair.publicKey, signature), crypto.verify(null, Buffer.from('x'), pair.publicKey, signature));
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }); const again = crypto.createPrivateKey(pem);
    print(again.equals(pair.privateKey), crypto.createPublicKey(again).equals(pair.publicKey), Object.keys(again.export({ format: 'jwk' })));
    const sealed = pair.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' });
    print(crypto.createPrivateKey({ key: sealed, passphrase: 'p' }).equals(pair.privateKey)); attempt(() => crypto.createPrivateKey({ key: sealed, passphrase: 'q' }).type);
    const rsa = crypto.generateKeyPairSync('rsa', { modulusLength: 1024, publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
    const s = crypto.createSign('sha256').update('a').update('b').sign(rsa.privateKey, 'base64'); print(crypto.createVerify('sha256').update('ab').verify(rsa.publicKey, s, 'base64'), crypto.createPublicKey(rsa.publicKey).asymmetricKeyDetails.modulusLength);
    print(crypto.privateDecrypt(rsa.privateKey, crypto.publicEncrypt(rsa.publicKey, Buffer.from('hidden'))).toString());
    print(await new Promise(resolve => crypto.generateKeyPair('ec', { namedCurve: 'P-256' }, (error, a, b) => resolve([error, a.type, b.asymmetricKeyDetails]))));
    print(crypto.createSecretKey('abc', 'utf8').export().toString(), crypto.createSecretKey(Buffer.alloc(4)).symmetricKeySize, crypto.generateKeySync('aes', { length: 128 }).symmetricKeySize);
    attempt(() => crypto.createPublicKey('nonsense')); attempt(() => crypto.createSecretKey(5));`,
  );
});

test('key agreement and random values are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const a = crypto.createECDH('secp256k1'), b = crypto.createECDH('secp256k1'); a.generateKeys(); b.generateKeys();
    print(a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey('hex'), 'hex')), a.getPublicKey('hex', 'compressed').length);
    const c = crypto.getDiffieHellman('modp14'), d = crypto.createDiffieHellman(c.getPrime(), c.getGenerator()); c.generateKeys(); d.generateKeys();
    print(c.computeSecret(d.getPublicKey()).equals(d.computeSecret(c.getPublicKey())), d.verifyError);
    const x = crypto.generateKeyPairSync('x25519'), y = crypto.generateKeyPairSync('x25519');
    print(crypto.diffieHellman({ privateKey: x.privateKey, publicKey: y.publicKey }).equals(crypto.diffieHellman({ privateKey: y.privateKey, publicKey: x.publicKey })));
    print(crypto.randomBytes(100000).length, crypto.randomUUID().length, crypto.randomInt(3, 4), crypto.randomFillSync(Buffer.alloc(4)).length);
    attempt(() => crypto.randomInt(5, 5)); attempt(() => crypto.randomBytes(-1)); print(crypto.checkPrimeSync(7n), crypto.checkPrimeSync(8n));`,
  );
});

for (const [what, code] of [
  ['scrypt with a gigabyte', `crypto.scryptSync('a', 'b', 8, { N: 2 ** 20, r: 8, maxmem: 2 ** 40 })`],
  ['a thousand million iterations', `crypto.pbkdf2Sync('a', 'b', 1e9, 8, 'sha1')`],
  ['a modulus of 16,384 bits', `crypto.generateKeyPairSync('rsa', { modulusLength: 16384 })`],
  ['a hash of a gigabyte', `crypto.createHash('shake256', { outputLength: 2 ** 30 })`],
] as const) {
  test(`an attacker cannot ask for ${what}`, async t => {
    for (const isolation of ISOLATIONS) {
      const [line = ''] = await inFunction(t, IMPORTS, `attempt(() => ${code});`, { isolation });
      t.regex(line, /ERR_OUT_OF_RANGE/, isolation);
    }
  });
}

test('an attacker cannot reach more by poisoned prototypes and getters than Node takes', async t => {
  for (const isolation of ISOLATIONS) {
    const lines = await inFunction(
      t,
      IMPORTS,
      `Object.prototype.id = 1; Object.prototype.k = 1; Object.prototype.b = [0, 1e9]; Array.prototype.toJSON = () => [{ k: 1 }];
      attempt(() => crypto.createHash('md5').update('a').digest('hex').length);
      attempt(() => crypto.createPrivateKey({ get key() { throw new TypeError('of the getter'); } }).type);
      attempt(() => crypto.createPublicKey({ key: { __proto__: null, kty: 'RSA', n: 'A'.repeat(4000), e: 'AQAB' }, format: 'jwk' }).type);
      delete Object.prototype.id; delete Object.prototype.k; delete Object.prototype.b; delete Array.prototype.toJSON;
      print('alive');`,
      { isolation },
    );
    t.is(lines.at(-1), '"alive"', isolation);
  }
});

test('an attacker cannot search for a safe prime longer than there is CPU time', async t => {
  for (const isolation of ISOLATIONS) {
    const code = 'attempt(() => crypto.generatePrimeSync(4096, { safe: true }));';
    await t.throwsAsync(inFunction(t, IMPORTS, code, { isolation }), { code: 'EDGE_CPU_LIMIT' }, isolation);
  }
});
