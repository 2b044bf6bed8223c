import type { ClientBodies } from '../bodies/given-bodies.js';
import { hostPlatform } from '../host-client.js';
import type { Service } from '../service.js';
import { createBucketClient } from './client/client.js';
import type { StoreBucket } from './types.js';

/** The bucket for the application itself, in its own process: the client that functions have, on the same service. */
export function hostBucket(service: Service, given?: ClientBodies): StoreBucket {
  return createBucketClient(hostPlatform(service, given));
}
