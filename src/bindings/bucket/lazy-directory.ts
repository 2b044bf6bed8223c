/** The buckets of an account whose storage opens with their first use. */
import type { BucketDirectory } from './engine.js';

export function lazyDirectory(open: () => Promise<BucketDirectory>): BucketDirectory {
  return {
    open: async name => (await open()).open(name),
    find: async name => (await open()).find(name),
    create: async (name, options) => (await open()).create(name, options),
    delete: async name => (await open()).delete(name),
    list: async () => (await open()).list(),
  };
}
