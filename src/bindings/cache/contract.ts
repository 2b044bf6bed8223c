/** How the caches of an account are used from another process. */
import { directoryContract } from '../contract.js';
import type { CacheEngine } from './engine.js';

export const CACHE_CONTRACT = directoryContract<CacheEngine>({
  methods: {
    match: { isSafe: true, work: 1, answer: 'body' },
    put: { body: 1, options: 2, work: 3, cancelsBody: true },
    delete: { work: 2 },
    purge: {},
    usage: { isSafe: true },
  },
});
