/** Makes the remote form of a part of the storage that belongs to no account, from its contract. */
import type { PartContract } from '../../bindings/contract.js';
import type { RemoteLink } from './remote-link.js';

/** @param name under which the part is served: backend/server/applications/served-parts.ts */
export function remotePart<Part>(link: RemoteLink, name: string, { methods }: PartContract<Part>): Part {
  const remote: Record<string, (...args: unknown[]) => Promise<unknown>> = {};
  for (const [method, { isSafe }] of Object.entries(methods)) {
    const call = `${name}.${method}`;
    remote[method] = (...args) => link.callValue(isSafe === true, [call, ...args]);
  }
  return remote as Part; // the contract has each of its methods
}
