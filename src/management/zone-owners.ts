/** Which zones an account may have: what the owner of the host has said, and who says it for a token. */

import type { NameOwners, NameRefusal } from '../hostnames/name-owners.js';
import { compilePattern } from '../hostnames/route-pattern.js';
import type { CompressionRule } from '../hostnames/zone-compression.js';
import { EdgeError } from '../quotas/errors.js';
import { askOption } from '../quotas/option-functions.js';
import { ApiError } from './http/envelope.js';
import type { Stores, ZoneRecord } from './state/stores.js';
import type { Principal } from './state/tokens.js';

/**
 * Whether an account may have a zone that was not declared for it: true allows it. The name is ASCII in lower case, without the final dot.
 * Names of other accounts and public suffixes are refused without a call.
 */
export type ZoneOwnership = (account: string, zone: string) => boolean | Promise<boolean>;

/** The source of the permission for a zone: the owner's token, the callback, or the account's option `zones`. */
export type ZoneApprover = 'owner' | 'callback' | 'declaration';

export class ZoneOwners {
  readonly #names: NameOwners;
  readonly #ask: ZoneOwnership | undefined;
  readonly #onWarning: (error: Error) => void;

  constructor(names: NameOwners, ask: ZoneOwnership | undefined, onWarning: (error: Error) => void) {
    this.#names = names;
    this.#ask = ask;
    this.#onWarning = onWarning;
  }

  /**
   * Finds the permission for a zone of a request.
   *
   * @throws ApiError NAME_DENIED; EdgeError EDGE_OPTION_FAILED
   */
  async approve(principal: Principal, account: string, zone: string): Promise<ZoneApprover> {
    if (principal.account === '*') return 'owner';
    if (this.#names.declares(account, zone)) return 'declaration';
    if (await this.#isAllowed(account, zone)) return 'callback';
    throw new ApiError(
      'NAME_DENIED',
      `The account may not have the zone ${zone}: the owner of the host declares the zones of an account (option zones of host.account(), or zoneOwnership of host.management())`,
    );
  }

  /** @throws EdgeError EDGE_OPTION_FAILED */
  async #isAllowed(account: string, zone: string): Promise<boolean> {
    const ask = this.#ask;
    if (ask === undefined) return false;
    const isBoolean = (answer: unknown): boolean => typeof answer === 'boolean';
    return askOption('zoneOwnership of management()', () => ask(account, zone), 'true or false', isBoolean);
  }

  /**
   * Takes the zone for the account at once, before it is stored.
   *
   * @throws ApiError NAME_TAKEN, NAME_DENIED
   */
  claim(principal: Principal, account: string, zone: string, approval: ZoneApprover): void {
    const refusal = this.#names.claimZone(account, zone, approval);
    if (refusal !== undefined) throw refused(principal, `the zone ${zone}`, refusal);
  }

  /** Puts the setting `brotli` of a zone into force; undefined: it is the default. */
  setBrotli(account: string, zone: string, value: unknown, isInForce: () => boolean): void {
    const { compression } = this.#names;
    if (value === undefined) compression.deleteBrotli(account, zone);
    else compression.setBrotli(account, zone, value !== 'off', isInForce);
  }

  /** Puts the compression rules of a zone into force. */
  setCompressionRules(
    account: string,
    zone: string,
    rules: readonly CompressionRule[] = [],
    isInForce: () => boolean,
  ): void {
    const { compression } = this.#names;
    if (rules.length === 0) compression.deleteRules(account, zone);
    else compression.setRules(account, zone, rules, isInForce);
  }

  release(account: string, zone: string): void {
    this.#names.releaseZone(account, zone);
  }

  /** @throws ApiError NAME_TAKEN, NAME_DENIED for a route that would not serve */
  checkRoute(principal: Principal, account: string, pattern: string): void {
    const refusal = this.#names.managedRouteRefusal(account, compilePattern(pattern));
    if (refusal !== undefined) throw refused(principal, `the route ${pattern}`, refusal);
  }

  /** Why a stored route does not serve; undefined when it does. */
  routeRefusal(account: string, pattern: string): string | undefined {
    return this.#names.managedRouteRefusal(account, compilePattern(pattern))?.message;
  }

  /**
   * Takes the zones that are stored. Those that were allowed go first, then the earlier before the later; a zone that is refused stays
   * stored and inactive, and a warning reports it.
   */
  async claimStored(stores: Stores): Promise<void> {
    const zones: ZoneRecord[] = [];
    for await (const zone of stores.zones.below()) zones.push(zone);
    const isOpen = (zone: ZoneRecord): number => (zone.approved_by === undefined ? 1 : 0);
    zones.sort((a, b) => isOpen(a) - isOpen(b) || compareText(a.created_on, b.created_on) || compareText(a.id, b.id));
    for (const zone of zones) this.claimOne(zone);
  }

  /** Takes a zone that is stored. */
  claimOne(zone: ZoneRecord): void {
    const { account, name } = zone;
    const approval = zone.approved_by ?? 'none';
    // A declared zone needs no other claim, and its account may not have been named yet.
    if (approval === 'declaration') return;
    const refusal = this.#names.claimZone(account, name, approval);
    if (refusal === undefined) return;
    this.#onWarning(
      new EdgeError(
        'EDGE_NAME_TAKEN',
        `The stored zone "${name}" of account "${account}" is inactive: ${refusal.message}`,
      ),
    );
  }
}

/** Only the owner of the host learns to whom a name belongs. */
function refused({ account }: Principal, what: string, { kind, message }: NameRefusal): ApiError {
  const code = kind === 'taken' ? 'NAME_TAKEN' : 'NAME_DENIED';
  if (account === '*' || kind !== 'taken') return new ApiError(code, `The account may not have ${what}: ${message}`);
  return new ApiError(
    code,
    `The account may not have ${what}: the name, or one above or below it, belongs to another account`,
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
