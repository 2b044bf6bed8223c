/** LevelDB as the management API takes it. */
import { Level } from 'level';
import type { ManagementStorage } from '../../../src/management/state/records.js';

export function openLevel(directory: string): ManagementStorage {
  return asStorage(new Level<string, string>(directory));
}

/** Databases and sublevels are levels of strings; only their hooks, which are not used here, name the class itself in their types. */
export function asStorage(level: object): ManagementStorage {
  return level as ManagementStorage; // see above
}
