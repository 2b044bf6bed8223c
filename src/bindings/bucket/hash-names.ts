import type { HashName } from './engine.js';

export const HASH_NAMES: readonly HashName[] = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'];
