/**
 * Refuses floods from few client addresses (specification: Limits, rule 5). Its memory is bounded: with more addresses than that a flood is not from few
 * addresses, and the account's own rates hold.
 */

import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

import { ipv6Groups } from '../ip-address.js';

/** The rule that security events of the anti-abuse limit name. It never changes. */
export const ABUSE_RULE_ID = 'edgehost-functions-anti-abuse';

/** A client address passed the anti-abuse limit: reported once for each address and second, at the first request that is refused. */
export interface AbuseEvent {
  readonly ruleId: typeof ABUSE_RULE_ID;
  readonly account: string;
  /** The address, or the /64 network of an IPv6 address. */
  readonly address: string;
  /** Requests of this second when the limit was passed. */
  readonly actual: number;
  /** `addressRequestsPerSecond` */
  readonly allowed: number;
  readonly time: Date;
}

export class AbuseGuard {
  readonly #windows: LRUCache<string, Window>;
  readonly #onAbuse: ((event: AbuseEvent) => void) | undefined;

  /** @param maxAddresses how many addresses are remembered */
  constructor(maxAddresses: number, onAbuse?: (event: AbuseEvent) => void) {
    this.#windows = new LRUCache({ max: maxAddresses });
    this.#onAbuse = onAbuse;
  }

  /** Addresses remembered now, once for each account that they asked. */
  get size(): number {
    return this.#windows.size;
  }

  /** Counts a request of the address to the account. Returns how many there were in this second when that is more than allowed, else 0. */
  count(account: string, address: string, allowed: number, nowMs: number): number {
    const network = networkOf(address);
    // By account: what a client asks of one is not held against it by another, whose limit may be far tighter.
    const key = `${account} ${network}`;
    const second = Math.floor(nowMs / 1000);
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = { second, count: 0, isTold: false };
      this.#windows.set(key, window);
    } else if (window.second !== second) {
      window.second = second;
      window.count = 0;
      window.isTold = false;
    }
    window.count++;
    if (window.count <= allowed) return 0;
    if (!window.isTold) {
      window.isTold = true;
      const time = new Date(nowMs);
      this.#onAbuse?.({ ruleId: ABUSE_RULE_ID, account, address: network, actual: window.count, allowed, time });
    }
    return window.count;
  }
}

/** A client with one IPv6 address has all 2^64 addresses of its network, so they count as one. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  // Most addresses have their four first groups written out: no need to parse the rest.
  let groupsSeen = 0;
  for (let i = 0; i < address.length; i++) {
    if (address[i] !== ':') continue;
    groupsSeen++;
    if (groupsSeen === 4) return `${address.slice(0, i)}::/64`;
    if (address[i + 1] === ':') break;
  }
  if (!isIPv6(address)) return address;
  const groups = ipv6Groups(address);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every(group => group === 0);
  if (isMapped) {
    const octets = groups.slice(6).flatMap(group => [group >> 8, group & 0xff]);
    return octets.join('.');
  }
  const network = groups.slice(0, 4).map(group => group.toString(16));
  return `${network.join(':')}::/64`;
}

interface Window {
  second: number;
  count: number;
  isTold: boolean;
}
