/** Keeps the objects of a function in one of the applications that share a storage directory. */
import { randomUUID } from 'node:crypto';
import type { ObjectClaims } from '../../bindings/objects/object-claims.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ObjectRules } from './object-runner.js';

export function applicationClaims(
  claims: () => Promise<ObjectClaims>,
): Required<Pick<ObjectRules, 'claim' | 'release'>> {
  const owner = randomUUID();
  return {
    async claim(of) {
      if (await (await claims()).claim(owner, of)) return;
      throw new EdgeError(
        'EDGE_NOT_SUPPORTED',
        `The stateful objects of function "${of.functionName}" of account "${of.account}" live in another application that shares the storage directory: call them there`,
      );
    },
    release(of) {
      // Where that fails the process is gone, and its claims with it.
      claims()
        .then(known => known.release(owner, of))
        .catch(() => {});
    },
  };
}
