/** How key-value namespaces are used from another process. */
import { directoryContract, engineContract, NAMED_ENGINES } from '../contract.js';
import type { KvDirectory, KvEngine } from './engine.js';
import { KvError } from './errors.js';

const NAMESPACE = engineContract<KvEngine, 'name', undefined>({
  methods: {
    get: { isSafe: true, work: 1, answer: 'content' },
    getMany: { isSafe: true, work: 1, answer: 'contents' },
    put: { body: 1, options: 2, work: 3 },
    delete: { work: 1 },
    list: { isSafe: true, work: 1 },
  },
  state: () => undefined,
  local: ({ name }) => ({ name }),
  // It was there when it was opened.
  missing: name => new KvError(20002, `The key-value namespace "${name}" was deleted`),
});

export const KV_CONTRACT = directoryContract<KvDirectory>({
  methods: NAMED_ENGINES,
  engine: NAMESPACE,
});
