/** The permissions of tokens, in the order of the document. `x:edit` includes `x:read`. */

import { BINDING_AREAS } from '../bindings/registry.js';

export const PERMISSIONS = [
  /** Only tokens for all accounts can have `accounts:read` and `accounts:edit`. */
  ...readAndEdit('accounts', 'zones', 'dns', 'functions', ...BINDING_AREAS),
  /** Reads quotas, and the usage to bill by. */
  'usage:read',
  'audit:read',
  /** Reads the requests that functions get, and their logs and exceptions. */
  'tails:read',
  /** Families are the deprecated ones that the owner of the host has mounted, and their successors. */
  ...readAndEdit('tokens', 'families'),
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export function isPermission(text: string): text is Permission {
  return PERMISSIONS.some(permission => permission === text);
}

export function permits(granted: ReadonlySet<Permission>, needed: Permission): boolean {
  if (granted.has(needed)) return true;
  const edit = needed.replace(/:read$/, ':edit');
  return isPermission(edit) && granted.has(edit);
}

function readAndEdit<const Area extends string>(
  ...areas: readonly Area[]
): readonly (`${Area}:read` | `${Area}:edit`)[] {
  return areas.flatMap(area => [`${area}:read`, `${area}:edit`] as const);
}
