/** Names of stores that configuration files of the hosted platform give by ids, by names with other characters, or not at all. */

/** A name of key-value namespaces and SQL databases. */
export function storeName(given: string | undefined, functionName: string, binding: string): string {
  const name = isGiven(given) ? given : `${functionName}-${binding}`;
  const allowed = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return allowed === '' ? 'store' : allowed.slice(0, 64);
}

/** A name of buckets. */
export function bucketName(given: string | undefined, functionName: string, binding: string): string {
  const name = isGiven(given) ? given : `${functionName}-${binding}`;
  const allowed = name
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return allowed.length < 3 ? `bucket-${allowed}`.replace(/-$/, '') : allowed;
}

function isGiven(name: string | undefined): name is string {
  return name !== undefined && name !== '';
}
