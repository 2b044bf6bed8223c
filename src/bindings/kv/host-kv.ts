import type { ClientBodies } from '../bodies/given-bodies.js';
import { hostPlatform } from '../host-client.js';
import type { Service } from '../service.js';
import { createKvClient } from './client/client.js';
import type { KvNamespace } from './types.js';

/** The namespace for the application itself, in its own process: the client that functions have, on the same service. */
export function hostKv(service: Service, given?: ClientBodies): KvNamespace {
  // The client answers what the overloads of the interface say for each type of value; TypeScript cannot follow that through one implementation.
  return createKvClient(hostPlatform(service, given)) as KvNamespace;
}
