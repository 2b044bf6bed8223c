/** How what stateful objects have stored is administered from another process. */
import { directoryContract } from '../../contract.js';
import type { ObjectDirectory } from './object-directory.js';

export const OBJECT_STORAGE_CONTRACT = directoryContract<ObjectDirectory>({
  methods: {
    list: { isSafe: true },
    find: { isSafe: true },
    objects: { isSafe: true },
    delete: {},
  },
});
