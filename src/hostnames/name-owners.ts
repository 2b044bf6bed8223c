/**
 * Which account a host name belongs to. A zone is a name and all names below it, or only those below it (`*.example.com`); the most
 * specific zone owns a name. The owner of the host declares zones for accounts; the management API adds those that it was allowed to make;
 * and a route that the application's code loads takes its host for its account, as long as it belongs to no other account.
 */
import { EdgeError } from '../quotas/errors.js';
import { namesAbove, normalName } from './host-names.js';
import { publicSuffixKind } from './public-suffixes.js';
import type { RouteHost } from './route-pattern.js';
import { ZoneCompression } from './zone-compression.js';

/**
 * The source of the permission for a zone of the management API: `owner`, a token for all accounts; `callback`, the option zoneOwnership;
 * `declaration`, the zones of the account; `none`, for zones of releases without such a check.
 */
export type ZoneApproval = 'owner' | 'callback' | 'declaration' | 'none';

/** Why an account may not have a name. `message` names the other account: it is for the owner of the host. */
export interface NameRefusal {
  readonly kind: 'taken' | 'denied' | 'public-suffix';
  readonly message: string;
}

interface Claim {
  readonly account: string;
  /** The function or zone that holds the name, for messages. */
  readonly holder: string;
  readonly approval: ZoneApproval;
}

interface RouteClaim {
  readonly account: string;
  readonly holder: string;
  count: number;
}

type AnyClaim = Claim | RouteClaim;

export class NameOwners {
  /** The keys are `example.com`, or `*.example.com` for a claim on the names below it only. */
  readonly #zones = new Map<string, Claim>();
  /** By account, as declared. */
  readonly #declared = new Map<string, readonly string[]>();
  /** Claims of the hosts of routes: `name` is that name alone, `*.name` all names below it. */
  readonly #routes = new Map<string, RouteClaim>();
  readonly compression = new ZoneCompression(name => this.ownerOf(name));
  readonly #onChange: () => void;
  readonly #onInactive: (message: string) => void;

  /** `onInactive` is called for a zone of the management API that no longer owns its names. */
  constructor(options: { onChange: () => void; onInactive: (message: string) => void }) {
    this.#onChange = options.onChange;
    this.#onInactive = options.onInactive;
  }

  /**
   * The zones that the owner of the host gives an account: it may then serve names in these alone. Nothing changes when it throws.
   *
   * @throws TypeError a zone that is not a host name
   * @throws RangeError a public suffix of a registry
   * @throws EdgeError EDGE_NAME_TAKEN another account has the zone declared, or functions of another account serve names in it
   */
  declare(account: string, texts: readonly string[]): void {
    const zones = texts.map(text => parseZone(account, text));
    for (const zone of zones) {
      const other = this.#zones.get(zone);
      if (other !== undefined && other.account !== account && other.approval === 'declaration') {
        throw taken(`Cannot declare the zone "${zone}" for account "${account}"`, other);
      }
      const user = this.#routeWithin(zone, account);
      if (user !== undefined) throw taken(`Cannot declare the zone "${zone}" for account "${account}"`, user);
    }
    this.#declared.set(account, zones);
    for (const zone of zones) {
      const before = this.#zones.get(zone);
      if (before !== undefined && before.account !== account) {
        this.#onInactive(`The ${before.holder} is inactive: the zone is declared for account "${account}"`);
      }
      this.#zones.set(zone, { account, holder: `zone "${zone}" of account "${account}"`, approval: 'declaration' });
    }
    for (const [zone, claim] of this.#zones) {
      if (claim.approval !== 'none') continue;
      const refusal = this.#zoneRefusal(claim.account, zone, 'none');
      if (refusal === undefined) continue;
      this.#zones.delete(zone);
      this.#onInactive(`The ${claim.holder} is inactive: ${refusal.message}`);
    }
    this.#onChange();
  }

  /**
   * Declares these zones in place of those that the account had. Nothing changes when it throws.
   *
   * @param routes the host names that functions of the account serve, which must be within the zones
   * @throws as `declare` does, and EdgeError EDGE_NAME_DENIED for a route that is not
   */
  redeclare(account: string, texts: readonly string[], routes: readonly RouteHost[]): void {
    const zones = new Set(texts.map(text => parseZone(account, text)));
    for (const route of routes) {
      if (isWithin(zones, route)) continue;
      throw new EdgeError(
        'EDGE_NAME_DENIED',
        `Cannot give account "${account}" the zones ${[...zones].join(', ') || 'none'}: one of its functions has the route "${route.pattern}" outside of them`,
      );
    }
    const before = this.#declared.get(account) ?? [];
    this.declare(account, texts);
    for (const zone of before) {
      const claim = this.#zones.get(zone);
      if (claim?.account === account && claim.approval === 'declaration' && !zones.has(zone)) this.#zones.delete(zone);
    }
    this.#onChange();
  }

  /** Whether the zone is one of those declared for the account, or in one. */
  declares(account: string, zone: string): boolean {
    const keys = [zone, ...[...namesAbove(zone)].flatMap(above => [`*.${above}`, above])];
    for (const key of keys) {
      const claim = this.#zones.get(key);
      if (claim === undefined) continue;
      if (claim.account !== account) return false;
      if (claim.approval === 'declaration') return true;
    }
    return false;
  }

  /** Whether the owner of the host has given the name to the account, by a zone: that the account has routes there is not enough. */
  isGranted(account: string, name: string): boolean {
    for (const key of [name, ...[...namesAbove(name)].flatMap(above => [`*.${above}`, above])]) {
      const claim = this.#zones.get(key);
      if (claim !== undefined) return claim.account === account && claim.approval !== 'none';
    }
    return false;
  }

  /**
   * Takes a zone of the management API for an account. A zone declared for the account belongs to it already: claiming it takes nothing, and the claim ends
   * with the declaration.
   */
  claimZone(account: string, zone: string, approval: ZoneApproval): NameRefusal | undefined {
    const refusal = this.#zoneRefusal(account, zone, approval);
    if (refusal !== undefined) return refusal;
    if (this.declares(account, zone)) return undefined;
    if (approval === 'declaration') {
      return { kind: 'denied', message: `the zones of account "${account}" do not have "${zone}" (option zones)` };
    }
    this.#zones.set(zone, { account, holder: `zone "${zone}" of account "${account}"`, approval });
    this.#onChange();
    return undefined;
  }

  /** Gives a zone of the management API back. */
  releaseZone(account: string, zone: string): void {
    this.compression.deleteBrotli(account, zone);
    this.compression.deleteRules(account, zone);
    const claim = this.#zones.get(zone);
    if (claim?.account !== account || claim.approval === 'declaration') return;
    this.#zones.delete(zone);
    this.#onChange();
  }

  /** Releases everything that an account owns besides its routes. */
  releaseAccount(account: string): void {
    for (const [zone, claim] of this.#zones) if (claim.account === account) this.#zones.delete(zone);
    this.#declared.delete(account);
    this.compression.deleteAccount(account);
    this.#onChange();
  }

  /** The account that owns a name; undefined when it is free. */
  ownerOf(name: string): string | undefined {
    return this.#claimOf(name)?.account;
  }

  /** Why the application's code may not let functions of the account answer there. */
  routeRefusal(account: string, { pattern, hostKind, name }: RouteHost): NameRefusal | undefined {
    const isConfined = this.#declared.has(account);
    const denied = (): NameRefusal => ({
      kind: 'denied',
      message: `route "${pattern}" reaches beyond the zones of account "${account}" (option zones)`,
    });
    if (hostKind === 'any') return isConfined ? denied() : undefined;
    const claims = [];
    if (hostKind !== 'below') claims.push(this.#claimOf(name));
    if (hostKind !== 'exact') claims.push(this.#claimBelow(name));
    if (hostKind === 'ending') claims.push(this.#claimBelow(namesAbove(name).next().value ?? ''));
    const other = claims.find(claim => claim !== undefined && claim.account !== account);
    if (other !== undefined) return { kind: 'taken', message: `its host belongs to ${other.holder}` };
    if (isConfined && claims.includes(undefined)) return denied();
    if (hostKind !== 'exact' && claims.every(claim => claim === undefined) && publicSuffixKind(name) === 'registry') {
      return { kind: 'public-suffix', message: `route "${pattern}" is for all names of the public suffix "${name}"` };
    }
    return undefined;
  }

  /** Why a route of the management API does not serve: there, an account has what it was given and nothing else. */
  managedRouteRefusal(account: string, host: RouteHost): NameRefusal | undefined {
    const refusal = this.routeRefusal(account, host);
    if (refusal !== undefined) return refusal;
    const claim = host.hostKind === 'below' ? this.#claimBelow(host.name) : this.#claimOf(host.name);
    if (host.hostKind !== 'any' && claim?.account === account) return undefined;
    return { kind: 'denied', message: `route "${host.pattern}" is in no active zone of account "${account}"` };
  }

  /** Adds the claims of a route that begins to serve; the route must not be refused. */
  addRoute(account: string, functionName: string, host: RouteHost): void {
    for (const key of routeKeys(host)) {
      const known = this.#routes.get(key);
      if (known !== undefined) known.count++;
      else this.#routes.set(key, { account, holder: `function "${functionName}" of account "${account}"`, count: 1 });
    }
    this.#onChange();
  }

  removeRoute(host: RouteHost): void {
    for (const key of routeKeys(host)) {
      const known = this.#routes.get(key);
      if (known !== undefined && --known.count === 0) this.#routes.delete(key);
    }
    this.#onChange();
  }

  /** The most specific claim on a name. */
  #claimOf(name: string): AnyClaim | undefined {
    let claim = this.#zones.get(name) ?? this.#routes.get(name);
    for (const above of namesAbove(name)) claim ??= this.#claimOn(above);
    return claim;
  }

  /** The most specific claim on all names below a name, apart from names that have more specific claims of their own. */
  #claimBelow(name: string): AnyClaim | undefined {
    let claim = this.#claimOn(name);
    for (const above of namesAbove(name)) claim ??= this.#claimOn(above);
    return claim;
  }

  /** The claim on the names directly below this one. */
  #claimOn(above: string): AnyClaim | undefined {
    return this.#zones.get(`*.${above}`) ?? this.#zones.get(above) ?? this.#routes.get(`*.${above}`);
  }

  #zoneRefusal(account: string, zone: string, approval: ZoneApproval): NameRefusal | undefined {
    const isDeclared = this.declares(account, zone);
    const suffix = publicSuffixKind(zone);
    if (suffix === 'registry' || (suffix === 'private' && approval !== 'owner' && !isDeclared)) {
      return { kind: 'public-suffix', message: `"${zone}" is a public suffix, under which others have names` };
    }
    const same = [this.#zones.get(zone), this.#routes.get(zone), this.#routes.get(`*.${zone}`)];
    const other = same.find(claim => claim !== undefined && claim.account !== account);
    if (other !== undefined) return { kind: 'taken', message: `"${zone}" belongs to ${other.holder}` };
    if (approval === 'owner') return undefined;
    // The owner of the host may declare zones within other accounts' zones, and assign names in them to others.
    if (isDeclared) return undefined;
    let above: AnyClaim | undefined;
    for (const name of namesAbove(zone)) above ??= this.#claimOn(name);
    if (above !== undefined && above.account !== account) {
      return { kind: 'taken', message: `"${zone}" is in ${above.holder}` };
    }
    const below = this.#claimWithin(zone, account);
    if (below !== undefined) return { kind: 'taken', message: `"${zone}" has ${below.holder} in it` };
    if (approval === 'none' && this.#declared.has(account)) {
      return { kind: 'denied', message: `the zones of account "${account}" do not have "${zone}" (option zones)` };
    }
    return undefined;
  }

  #claimWithin(zone: string, account: string): AnyClaim | undefined {
    for (const [key, claim] of this.#zones) {
      if (claim.account !== account && key.endsWith(`.${zone}`)) return claim;
    }
    return this.#routeWithin(zone, account);
  }

  /** A route of another account in the zone, besides in zones declared for that account. */
  #routeWithin(zone: string, account: string): RouteClaim | undefined {
    const below = zone.startsWith('*.') ? zone.slice(1) : `.${zone}`;
    for (const [key, claim] of this.#routes) {
      if (claim.account === account || (key !== zone && !key.endsWith(below))) continue;
      if (!this.declares(claim.account, key.replace(/^\*\./, ''))) return claim;
    }
    return undefined;
  }
}

function routeKeys({ hostKind, name }: RouteHost): string[] {
  if (hostKind === 'any') return [];
  const keys = [];
  if (hostKind !== 'below') keys.push(name);
  if (hostKind !== 'exact') keys.push(`*.${name}`);
  return keys;
}

/** Whether all names of the host are in zones, which are as `parseZone` answers them. */
function isWithin(zones: ReadonlySet<string>, { hostKind, name }: RouteHost): boolean {
  if (hostKind === 'any') return false;
  const above = [...namesAbove(name)];
  const isAbove = above.some(zone => zones.has(zone) || zones.has(`*.${zone}`));
  if (isAbove) return true;
  // Names that end in the text are below the next name above.
  if (hostKind === 'ending') return false;
  return zones.has(name) || (hostKind === 'below' && zones.has(`*.${name}`));
}

function parseZone(account: string, text: string): string {
  const isBelow = text.startsWith('*.');
  const name = normalName(isBelow ? text.slice(2) : text);
  if (name === undefined) {
    throw new TypeError(
      `The zone ${JSON.stringify(text)} of account "${account}" is not a host name, expected one such as "example.com" or "*.example.com"`,
    );
  }
  if (publicSuffixKind(name) === 'registry') {
    throw new RangeError(
      `The zone ${JSON.stringify(text)} of account "${account}" is a public suffix, under which others register their names`,
    );
  }
  return isBelow ? `*.${name}` : name;
}

function taken(act: string, { holder }: { readonly holder: string }): EdgeError {
  return new EdgeError('EDGE_NAME_TAKEN', `${act}: it belongs to ${holder}`);
}
