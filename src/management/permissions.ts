/** The permissions of tokens. `x:edit` includes `x:read`. */

export const PERMISSIONS = [
  /** Of tokens for all accounts. */
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
  /** To purge what is kept. */
  'cache:edit',
  /** Stateful objects that have stored something; to delete what they have. */
  'objects:read',
  'objects:edit',
  'queues:read',
  'queues:edit',
  /** Of quotas, and of what was used, to bill by. */
  'usage:read',
  'audit:read',
  /** Of what functions log and throw, and of the requests that they get. */
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
