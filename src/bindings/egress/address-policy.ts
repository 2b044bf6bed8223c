/**
 * Which addresses a function may reach: the public internet, less what `deny` lists, plus what `allow` lists. It judges
 * addresses, never names: names are resolved first, and the address judged is the address connected to.
 *
 * The machine's own addresses are not the internet, though they may be public: a connection to them never passes the firewall that keeps the internet from the
 * machine's other services.
 */

import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

import { ipv6Groups } from '../../quotas/ip-address.js';

export interface AddressPolicyOptions {
  /** Addresses and CIDR ranges allowed though they are not public: `127.0.0.0/8`, `fd00::/8`, `10.0.0.7`. */
  readonly allow?: readonly string[];
  /** Addresses and CIDR ranges never allowed. Wins over `allow`. */
  readonly deny?: readonly string[];
  /** Whether public addresses are allowed. `false` leaves `allow` alone. @default true */
  readonly publicInternet?: boolean;
  /** The machine's own addresses. @default the addresses of its network interfaces */
  readonly ownAddresses?: () => readonly string[];
}

export class AddressPolicy {
  readonly #allow: BlockList;
  readonly #deny: BlockList;
  readonly #publicInternet: boolean;
  readonly #ownAddresses: () => readonly string[];

  /** @throws TypeError for a text that is neither an address nor a CIDR range */
  constructor(options: AddressPolicyOptions = {}) {
    this.#allow = ranges('egress.allow', options.allow ?? []);
    this.#deny = ranges('egress.deny', options.deny ?? []);
    this.#publicInternet = options.publicInternet ?? true;
    this.#ownAddresses = options.ownAddresses ?? interfaceAddresses;
  }

  /** Whether an IPv4 or IPv6 address, in any notation that `net.isIP` knows, may be connected to. */
  allows(address: string): boolean {
    // A zone names a local interface (fe80::1%eth0): such an address is never public and cannot stand in a list.
    if (isIP(address) === 0 || address.includes('%')) return false;
    const embedded = isIPv6(address) ? embeddedIPv4(address) : undefined;
    if (isListed(this.#deny, address) || (embedded !== undefined && isListed(this.#deny, embedded))) return false;
    const judged = embedded ?? address;
    if (isListed(this.#allow, judged)) return true;
    return this.#publicInternet && isPublic(judged) && !this.#isOwn(judged);
  }

  #isOwn(address: string): boolean {
    const own = new BlockList();
    for (const entry of this.#ownAddresses()) {
      if (isIP(entry) !== 0) own.addAddress(entry, isIPv4(entry) ? 'ipv4' : 'ipv6');
    }
    return isListed(own, address);
  }
}

/**
 * Whether an address is globally reachable (IANA special-purpose address registries). Only 2000::/3 of IPv6 is allocated for public use, so
 * other addresses are not public.
 */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC.check(address, 'ipv4');
  return GLOBAL_UNICAST.check(address, 'ipv6') && !NOT_PUBLIC.check(address, 'ipv6');
}

const NOT_PUBLIC = ranges('', [
  '0.0.0.0/8', // this network; reaches the local host on Linux
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // carrier-grade NAT, RFC 6598; cloud metadata (100.100.100.200)
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's host agent on an otherwise public address
  '169.254.0.0/16', // link-local; cloud metadata (169.254.169.254)
  '172.16.0.0/12', // private, RFC 1918
  '192.0.0.0/24', // protocol assignments; cloud metadata (192.0.0.192)
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private, RFC 1918
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an embedded IPv4 address, routed by any relay that announces the prefix
  '3fff::/20', // documentation
]);

const GLOBAL_UNICAST = ranges('', ['2000::/3']);

/**
 * The IPv4 address that an IPv6 address stands for: IPv4-mapped (::ffff:0:0/96), IPv4-translated (::ffff:0:0:0/96), IPv4-compatible (::/96) and NAT64
 * (64:ff9b::/96). Behind a DNS64 resolver every IPv4 site has a NAT64 address, so these are judged by what they stand for.
 */
function embeddedIPv4(address: string): string | undefined {
  const groups = ipv6Groups(address);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, high = 0, low = 0] = groups;
  const isZeroTo = (end: number): boolean => groups.slice(0, end).every(group => group === 0);
  const isMapped = isZeroTo(5) && f === 0xffff;
  const isTranslated = isZeroTo(4) && e === 0xffff && f === 0;
  const isCompatible = isZeroTo(6);
  const isNat64 = a === 0x64 && b === 0xff9b && (c | d | e | f) === 0;
  if (!isMapped && !isTranslated && !isCompatible && !isNat64) return undefined;
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** Asked for each new connection to the internet, some 30 us: interfaces come and go. */
function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(addresses => addresses?.map(({ address }) => address) ?? []);
}

function isListed(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function ranges(option: string, entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix, ...rest] = typeof entry === 'string' ? entry.split('/') : [];
    const family = isIPv4(address) ? 'ipv4' : isIPv6(address) && !address.includes('%') ? 'ipv6' : undefined;
    const bits = family === 'ipv4' ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (family === undefined || rest.length > 0 || !(length <= bits)) {
      throw new TypeError(
        `Option ${option} has ${JSON.stringify(entry)}, expected an IP address or a CIDR range such as 10.0.0.0/8 or fd00::/8`,
      );
    }
    list.addSubnet(address, length, family);
  }
  return list;
}
