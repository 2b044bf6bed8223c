import { attack } from '../attack.js';

export default attack({
  tries: 'hostile algorithms and keys in SubtleCrypto',
  rules: ['R6', 'R17', 'R18'],
  body: String.raw`
const names = ['HMAC', 'AES-GCM', 'RSA-OAEP', 'ECDSA', 'PBKDF2', '__proto__', 'constructor', '', '\0', 'x'.repeat(1e5)];
for (const name of names) {
  for (const extra of [{}, { hash: '__proto__' }, { length: -1 }, { length: 2 ** 40 }, { iterations: 2 ** 32 }, { iterations: 0 }, { modulusLength: 1e9, publicExponent: new Uint8Array([1]) }, { namedCurve: '__proto__' }, { iv: new Uint8Array(0), tagLength: -8 }, { salt: {} }, { get hash() { throw new Error('x'); } }]) {
    await settle(() => crypto.subtle.generateKey({ name, ...Object.getOwnPropertyDescriptors(extra).hash?.get ? {} : extra }, true, ['sign', 'verify', 'encrypt', '__proto__']));
    await settle(() => crypto.subtle.importKey('raw', new Uint8Array(16), { name, ...(extra.length ? extra : {}) }, true, ['sign']));
  }
}
for (const method of Object.getOwnPropertyNames(SubtleCrypto.prototype)) if (method !== 'constructor') { await settle(() => crypto.subtle[method]()); await settle(() => crypto.subtle[method]({}, {}, {}, {}, {}, {}, {})); await settle(() => SubtleCrypto.prototype[method].call({}, 'SHA-1', new Uint8Array(1))); }
attempt(() => structuredClone(Object.create(CryptoKey.prototype)));
attempt(() => Object.create(CryptoKey.prototype).algorithm);
`,
});
