/** API tokens: made, kept as hashes, verified in constant time, scoped to an account and to permissions. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../http/envelope.js';
import { isPermission, PERMISSIONS, type Permission, permits } from '../permissions.js';
import type { RecordChange, Records } from './records.js';

/** A token that the owner of the host brings along. It is hashed at once and its text is not kept. */
export interface ConfiguredToken {
  /** Stands in the audit log. */
  readonly name: string;
  /** The token itself, 32 to 512 printable characters, or its SHA-256 in hex. */
  readonly token: string | { readonly sha256: string };
  /** Id of one account, or `'*'` for all of them. */
  readonly account: string;
  readonly permissions: readonly Permission[] | 'all';
  /** @default null, it does not expire */
  readonly expiresOn?: Date | null;
}

/** The sender of a request. */
export interface Principal {
  readonly tokenId: string;
  readonly tokenName: string;
  readonly account: string;
  readonly permissions: ReadonlySet<Permission>;
  readonly expiresOn: number | null;
}

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly permissions: readonly Permission[];
  /** SHA-256 of the whole token, hex. Tokens hold 256 random bits, so a slow hash would add nothing. */
  readonly hash: string;
  readonly created_on: string;
  readonly expires_on: string | null;
}

const MIN_CHARACTERS = 32;
const MAX_CHARACTERS = 512;

interface Configured {
  readonly principal: Principal;
  readonly hash: Buffer;
}

export class Tokens {
  readonly #configured: Configured[];
  readonly #records: Records<TokenRecord>;

  /** @throws RangeError for a token that is too short, an invalid hash, or an unknown permission */
  constructor(configured: readonly ConfiguredToken[], records: Records<TokenRecord>) {
    this.#configured = configured.map((token, index) => resolve(token, `configured-${index + 1}`));
    this.#records = records;
  }

  /** @throws ApiError AUTH_MISSING or AUTH_INVALID; the text does not say which part was wrong */
  async authenticate(authorization: string | null, now: number): Promise<Principal> {
    const headers = { 'www-authenticate': 'Bearer realm="management"' };
    if (authorization === null) {
      throw new ApiError('AUTH_MISSING', 'Authentication is required: Authorization: Bearer <token>', { headers });
    }
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    const principal = token === undefined || token.length > MAX_CHARACTERS ? null : await this.#verify(token);
    if (principal === null || (principal.expiresOn !== null && principal.expiresOn <= now)) {
      throw new ApiError('AUTH_INVALID', 'The token is unknown, revoked or expired', {
        headers: { 'www-authenticate': 'Bearer realm="management", error="invalid_token"' },
      });
    }
    return principal;
  }

  /** A new token; `write` stores it, and `value` is the only copy of its text. */
  prepare(
    spec: Pick<TokenRecord, 'name' | 'account' | 'permissions' | 'expires_on'>,
    now: Date,
  ): { readonly record: TokenRecord; readonly value: string; readonly write: RecordChange } {
    const id = randomBytes(8).toString('hex');
    const value = `edge_${id}_${randomBytes(32).toString('base64url')}`;
    const record = { ...spec, id, hash: digest(value).toString('hex'), created_on: now.toISOString() };
    return { record, value, write: this.#records.put([id], record).operation };
  }

  async #verify(token: string): Promise<Principal | null> {
    const hash = digest(token);
    let found: Principal | null = null;
    // Every configured token is compared, whether or not one has matched.
    for (const configured of this.#configured) {
      if (timingSafeEqual(configured.hash, hash)) found = configured.principal;
    }
    if (found !== null) return found;
    const id = /^edge_([0-9a-f]{16})_/.exec(token)?.[1];
    const record = id === undefined ? undefined : (await this.#records.get(id))?.value;
    const expected = record === undefined ? Buffer.alloc(hash.length) : Buffer.from(record.hash, 'hex');
    const same = timingSafeEqual(expected, hash);
    return same && record !== undefined ? principalOf(record) : null;
  }
}

/** Whether the principal may act on the account. */
export function mayActOn(principal: Principal, account: string): boolean {
  return principal.account === '*' || principal.account === account;
}

/** @throws ApiError PERMISSION */
export function requirePermission(principal: Principal, needed: Permission): void {
  if (!permits(principal.permissions, needed)) {
    throw new ApiError('PERMISSION', `The token ${JSON.stringify(principal.tokenName)} lacks the permission ${needed}`);
  }
}

/** @throws RangeError */
export function checkPermissions(name: string, permissions: readonly string[]): void {
  for (const permission of permissions) {
    if (!isPermission(permission)) {
      throw new RangeError(`Token ${JSON.stringify(name)} has the unknown permission ${JSON.stringify(permission)}`);
    }
  }
}

function principalOf(record: TokenRecord): Principal {
  return {
    tokenId: record.id,
    tokenName: record.name,
    account: record.account,
    permissions: new Set(record.permissions),
    expiresOn: record.expires_on === null ? null : Date.parse(record.expires_on),
  };
}

function resolve(token: ConfiguredToken, id: string): Configured {
  const permissions = token.permissions === 'all' ? PERMISSIONS : token.permissions;
  checkPermissions(token.name, permissions);
  const expiresOn = token.expiresOn?.getTime() ?? null;
  if (Number.isNaN(expiresOn)) throw new RangeError(`Token ${JSON.stringify(token.name)} has an invalid expiresOn`);
  return {
    hash: hashOf(token),
    principal: {
      tokenId: id,
      tokenName: token.name,
      account: token.account,
      permissions: new Set(permissions),
      expiresOn,
    },
  };
}

function hashOf({ name, token }: ConfiguredToken): Buffer {
  if (typeof token !== 'string') {
    if (!/^[0-9a-f]{64}$/i.test(token.sha256)) {
      throw new RangeError(
        `Token ${JSON.stringify(name)} must have a sha256 of 64 hex digits, got ${token.sha256.length} characters`,
      );
    }
    return Buffer.from(token.sha256, 'hex');
  }
  if (!/^[\x21-\x7e]+$/.test(token) || token.length < MIN_CHARACTERS || token.length > MAX_CHARACTERS) {
    throw new RangeError(
      `Token ${JSON.stringify(name)} must be ${MIN_CHARACTERS} to ${MAX_CHARACTERS} printable characters, got ${token.length}`,
    );
  }
  return digest(token);
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
