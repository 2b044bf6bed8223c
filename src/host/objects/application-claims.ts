/** Keeps the objects of a function in one of the applications that share a storage directory. */
import { randomUUID } from 'node:crypto';
import { functionKey } from '../../bindings/objects/alarm-claims.js';
import type { ObjectClaims } from '../../bindings/objects/object-claims.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ObjectRules } from './object-runner.js';

export function applicationClaims(
  claims: () => Promise<ObjectClaims>,
): Required<Pick<ObjectRules, 'claim' | 'release'>> {
  const owner = randomUUID();
  /** Versions of each function that have objects, or are about to: one may begin while another ends. */
  const users = new Map<string, Set<object>>();
  return {
    async claim(of, by) {
      const key = functionKey(of);
      const before = users.get(key) ?? new Set();
      users.set(key, before.add(by));
      if (await (await claims()).claim(owner, of)) return;
      before.delete(by);
      if (before.size === 0) users.delete(key);
      throw new EdgeError(
        'EDGE_NOT_SUPPORTED',
        `The stateful objects of function "${of.functionName}" of account "${of.account}" live in another application that shares the storage directory: call them there`,
      );
    },
    release(of, by) {
      const key = functionKey(of);
      const left = users.get(key);
      if (left?.delete(by) !== true || left.size > 0) return;
      users.delete(key);
      // Where that fails the process is gone, and its claims with it.
      claims()
        .then(known => known.release(owner, of))
        .catch(() => {});
    },
  };
}
