import { attack } from '../attack.js';

export default attack({
  tries: 'to end the process by a -0, which native code takes for no integer',
  rules: ['R18'],
  body: `
const crypto = require('node:crypto');
const zlib = require('node:zlib');
const bytes = new Uint8Array(16);
const calls = [
  () => zlib.crc32(bytes, -0),
  () => zlib.deflateSync(bytes, { level: -0, memLevel: -0, strategy: -0, windowBits: -0, flush: -0, finishFlush: -0 }),
  () => zlib.inflateSync(bytes, { windowBits: -0, maxOutputLength: -0 }),
  () => zlib.createDeflate({ level: -0, strategy: -0 }).params(-0, -0, () => {}),
  () => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: -0, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: -0 } }),
  () => crypto.pbkdf2Sync('p', 's', 1, -0, 'sha256'),
  () => crypto.pbkdf2Sync('p', 's', -0, 8, 'sha256'),
  () => crypto.scryptSync('p', 's', -0),
  () => crypto.scryptSync('p', 's', 8, { N: -0, r: -0, p: -0, maxmem: -0 }),
  () => crypto.hkdfSync('sha256', bytes, bytes, bytes, -0),
  () => crypto.randomInt(-0, 1),
  () => crypto.randomBytes(-0),
  () => crypto.createHash('shake128', { outputLength: -0 }).digest(),
  () => crypto.generatePrimeSync(-0),
  () => crypto.checkPrimeSync(7n, { checks: -0 }),
  () => crypto.generateKeyPairSync('rsa', { modulusLength: -0 }),
  () => crypto.generateKeyPairSync('rsa', { modulusLength: 512, publicExponent: -0 }),
  () => crypto.generateKeyPairSync('dh', { primeLength: -0, generator: -0 }),
  () => crypto.generateKeySync('hmac', { length: -0 }),
  () => crypto.createDiffieHellman(-0, -0),
  () => crypto.createCipheriv('aes-128-gcm', bytes, bytes, { authTagLength: -0 }),
  () => crypto.createCipheriv('aes-128-ccm', bytes, bytes.slice(3), { authTagLength: -0 }),
  () => crypto.sign('sha256', bytes, { key: crypto.generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, padding: -0, saltLength: -0 }),
];
for (const call of calls) attempt(() => keep(call()));
for (const params of [{ name: 'PBKDF2', salt: bytes, iterations: -0, hash: 'SHA-256' }, { name: 'HKDF', salt: bytes, info: bytes, hash: 'SHA-256' }])
  await crypto.subtle.importKey('raw', bytes, params.name, false, ['deriveBits']).then(key => crypto.subtle.deriveBits(params, key, -0)).then(keep, keep);
`,
});
