/** Keys and bytes derived from passwords and secrets. Their bounds are the host's (src/isolate/ops/node/crypto/derivation.ts). */
import { isCryptoKey } from '../../web/crypto/crypto-key.ts';
import { checkFunction, checkInteger, checkString, codeError, invalidArgType } from '../errors.ts';
import { callBack, toBytes } from './bytes.ts';
import { call, callAsync } from './calls.ts';
import { isKeyObject } from './key-object.ts';

const MOST = 2 ** 31 - 1;

function pbkdf2Arguments(
  password: unknown,
  salt: unknown,
  iterations: unknown,
  keyLength: unknown,
  digest: unknown,
): readonly unknown[] {
  checkString(digest, 'digest');
  const passwordBytes = toBytes(password, 'password', 'utf8');
  const saltBytes = toBytes(salt, 'salt', 'utf8');
  checkInteger(iterations, 'iterations', 1, MOST);
  checkInteger(keyLength, 'keylen', 0, MOST);
  return [passwordBytes, saltBytes, iterations, keyLength, digest];
}

export function pbkdf2Sync(
  password: unknown,
  salt: unknown,
  iterations: unknown,
  keyLength: unknown,
  digest: unknown,
): unknown {
  return call('pbkdf2Sync', ...pbkdf2Arguments(password, salt, iterations, keyLength, digest));
}

export function pbkdf2(
  password: unknown,
  salt: unknown,
  iterations: unknown,
  keyLength: unknown,
  digest: unknown,
  callback: unknown,
): void {
  if (typeof digest === 'function') throw invalidArgType('digest', 'string', undefined);
  const args = pbkdf2Arguments(password, salt, iterations, keyLength, digest);
  checkFunction(callback, 'callback');
  callBack(callback as never, callAsync('pbkdf2', ...args)); // as checked
}

const SCRYPT_DEFAULTS = { N: 16_384, r: 8, p: 1, maxmem: 32 * 1024 * 1024 };

function scryptArguments(password: unknown, salt: unknown, keyLength: unknown, options: unknown): readonly unknown[] {
  const passwordBytes = toBytes(password, 'password', 'utf8');
  const saltBytes = toBytes(salt, 'salt', 'utf8');
  checkInteger(keyLength, 'keylen', 0, MOST);
  const given = { ...Object(options === SCRYPT_DEFAULTS ? undefined : options) } as {
    readonly [name: string]: unknown;
  }; // of any object
  const checked: { [name: string]: unknown } = {};
  for (const [name, long] of [
    ['N', 'cost'],
    ['r', 'blockSize'],
    ['p', 'parallelization'],
  ] as const) {
    const value = given[name];
    const other = given[long];
    if (value !== undefined) {
      checkInteger(value, name, 0, 2 ** 32 - 1);
      if (other !== undefined) {
        throw codeError(
          Error,
          'ERR_INCOMPATIBLE_OPTION_PAIR',
          `Option "${name}" cannot be used in combination with option "${long}"`,
        );
      }
      checked[name] = value;
    } else if (other !== undefined) {
      checkInteger(other, long, 0, 2 ** 32 - 1);
      checked[name] = other;
    }
  }
  if (given.maxmem !== undefined) {
    checkInteger(given.maxmem, 'maxmem', 0);
    checked.maxmem = given.maxmem;
  }
  return [passwordBytes, saltBytes, keyLength, checked];
}

export function scryptSync(
  password: unknown,
  salt: unknown,
  keyLength: unknown,
  options: unknown = SCRYPT_DEFAULTS,
): unknown {
  return call('scryptSync', ...scryptArguments(password, salt, keyLength, options));
}

export function scrypt(
  password: unknown,
  salt: unknown,
  keyLength: unknown,
  options: unknown,
  callback?: unknown,
): void {
  const [settings, done] = callback === undefined ? [undefined, options] : [options, callback];
  const args = scryptArguments(password, salt, keyLength, settings);
  checkFunction(done, 'callback');
  callBack(done as never, callAsync('scrypt', ...args)); // as checked
}

function hkdfArguments(
  digest: unknown,
  key: unknown,
  salt: unknown,
  info: unknown,
  keyLength: unknown,
): readonly unknown[] {
  checkString(digest, 'digest');
  const keyBytes = isKeyObject(key) || isCryptoKey(key) ? key : toBytes(key, 'ikm', 'utf8');
  const saltBytes = toBytes(salt, 'salt', 'utf8');
  const infoBytes = toBytes(info, 'info', 'utf8');
  checkInteger(keyLength, 'length', 0, MOST);
  return [digest, keyBytes, saltBytes, infoBytes, keyLength];
}

export function hkdfSync(digest: unknown, key: unknown, salt: unknown, info: unknown, keyLength: unknown): ArrayBuffer {
  return exact(call('hkdfSync', ...hkdfArguments(digest, key, salt, info, keyLength)));
}

export function hkdf(
  digest: unknown,
  key: unknown,
  salt: unknown,
  info: unknown,
  keyLength: unknown,
  callback: unknown,
): void {
  const args = hkdfArguments(digest, key, salt, info, keyLength);
  checkFunction(callback, 'callback');
  callBack(callback as never, callAsync('hkdf', ...args).then(exact)); // as checked
}

/** Both answer an ArrayBuffer. */
function exact(bytes: unknown): ArrayBuffer {
  return Uint8Array.from(bytes as Uint8Array).buffer; // what the call answers
}
