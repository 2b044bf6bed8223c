/**
 * Resolves names to the addresses that sockets are connected to. Addresses that the policy does not allow are left out here, in the step in which
 * the socket is opened.
 */
import { Resolver } from 'node:dns/promises';
import { isIPv4, type LookupFunction } from 'node:net';

import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { describe } from '../../quotas/schema/describe.js';
import type { AddressPolicy } from './address-policy.js';

/** The addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/**
 * Resolves names over DNS, without the operating system's resolver: that one takes a thread of the pool that also reads
 * and writes files, and four slow names would stop every bucket. Names of /etc/hosts are therefore not found; localhost is.
 */
export function createResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: 2500, tries: 3 });
  return async name => {
    const hostname = name.replace(/\.$/, '');
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = results.flatMap(result => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length === 0 && results[0].status === 'rejected') throw results[0].reason;
    return addresses;
  };
}

/** The codes of resolvers for a name that does not exist or has no address. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ENONAME', 'EAI_NONAME', 'EAI_NODATA']);

/** A lookup that answers with the addresses that the policy allows, and with no others: what connects can reach nothing else. */
export function policedLookup(policy: AddressPolicy, resolve: ResolveHost): LookupFunction {
  return (hostname, options, callback) => {
    const fail = (error: Error): void => callback(error, options.all === true ? [] : '');
    // In a function that is async, so that what it throws at once is a rejection, too.
    const addresses = async (): Promise<readonly string[]> => {
      const resolved: unknown = await resolve(hostname);
      if (isAddresses(resolved)) return resolved;
      throw new EdgeError(
        'EDGE_EGRESS_FAILED',
        `Cannot resolve ${hostname}: option egress.resolve answers ${describe(resolved)}, expected an array of addresses`,
      );
    };
    addresses().then(
      guarded(addresses => {
        const found = addresses
          .filter(address => policy.allows(address))
          .map(address => ({ address, family: isIPv4(address) ? 4 : 6 }));
        const [first] = found;
        if (first === undefined) return fail(deniedError(hostname));
        if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      }),
      guarded((error: unknown) => {
        if (NO_ADDRESS.has(errorCode(error) ?? '')) fail(deniedError(hostname));
        else if (error instanceof EdgeError) fail(error);
        else fail(new EdgeError('EDGE_EGRESS_FAILED', `Cannot resolve ${hostname}`, { cause: error }));
      }),
    );
  };
}

/** The resolver may be the application's. */
function isAddresses(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}

/** One error for a name without an address and for one whose addresses are not allowed: else a function could find out which names exist inside. */
export function deniedError(host: string): EdgeError {
  return new EdgeError(
    'EDGE_EGRESS_DENIED',
    `Cannot connect to ${host}: it has no address that the egress policy allows (option egress.allow)`,
  );
}
