/**
 * Where namespaces keep their records in the storage. Namespace ids are made by the host and hold no "/".
 *
 *     kn<account>/<name>                     a namespace
 *     kv<namespace id>/<key>                 a key, with its value when that is small
 *     kx<time>/<namespace id>/<key>          when a key expires; the value is its account
 *     kr<namespace id>                       a namespace that was deleted: all that it has is being removed. The value is its account, and empty when
 *                                            the account was removed, too
 */
export const kvKeys = {
  /** The prefix of all accounts. */
  namespaces: () => 'kn',
  entries: (namespaceId: string) => `kv${namespaceId}/`,
  removed: (namespaceId: string) => `kr${namespaceId}`,
  /** The prefix of all namespaces. */
  allRemoved: () => 'kr',
  expiry: (seconds: number, namespaceId: string, key: string) => `${kvKeys.expiryBound(seconds)}/${namespaceId}/${key}`,
  expiryBound: (seconds: number) => `kx${String(Math.max(0, Math.floor(seconds))).padStart(12, '0')}`,
  /** The prefix of all times. */
  expiries: () => 'kx',
} as const;

/** The letter that all of the keys above begin with. */
export const KV_KEYSPACE: readonly string[] = ['k'];

/** The parts of the key of an expiry. */
export function parseExpiry(key: string): {
  readonly seconds: number;
  readonly namespaceId: string;
  readonly key: string;
} {
  const prefix = kvKeys.expiries().length;
  const idAt = key.indexOf('/') + 1;
  const keyAt = key.indexOf('/', idAt) + 1;
  return {
    seconds: Number(key.slice(prefix, idAt - 1)),
    namespaceId: key.slice(idAt, keyAt - 1),
    key: key.slice(keyAt),
  };
}
