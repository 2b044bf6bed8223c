/** The permissions of tokens. `x:edit` includes `x:read`. */

export const PERMISSIONS = [
  /** Only tokens for all accounts can have `accounts:read` and `accounts:edit`. */
  'accounts:read',
  'accounts:edit',
  'zones:read',
  'zones:edit',
  'dns:read',
  'dns:edit',
  'functions:read',
  'functions:edit',
  'buckets:read',
  'buckets:edit',
  /** SQL databases, their contents and migrations. */
  'sql:read',
  'sql:edit',
  /** Key-value namespaces with their keys and values. */
  'kv:read',
  'kv:edit',
  'cache:read',
  /** To purge caches. */
  'cache:edit',
  /** Stateful objects that have stored something; to delete what they have. */
  'objects:read',
  'objects:edit',
  'queues:read',
  'queues:edit',
  /** Reads quotas, and the usage to bill by. */
  'usage:read',
  'audit:read',
  /** Reads the requests that functions get, and their logs and exceptions. */
  'tails:read',
  'tokens:read',
  'tokens:edit',
  /** The deprecated families that the owner of the host has mounted, and their successors. */
  'families:read',
  'families:edit',
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
