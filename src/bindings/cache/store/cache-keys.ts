/**
 * Where caches keep their records. The id of a store is made by the host and holds no "/"; it is another one after everything was purged. A hash
 * names an entry within its store.
 *
 *     zca<account>                     the store of an account
 *     zcr<store>                       a store that nothing finds any more: all that it has is being removed
 *     zcs<store>                       how many bytes and entries it has
 *     zce<store>/<hash>                an entry, with its body when that is small
 *     zco<store>/<hash>                the order of an entry that was used after it was put
 *     zci<store>/<order>/<hash>        the entries by their last use, the least recent first
 *     zcx<time>/<store>/<hash>         when an entry expires
 *     zcu<store>/<URL>\0<hash>         the entries by their URL, which begins with the host
 *     zct<store>/<tag>/<hash>          the entries by their tags
 */
export const cacheKeys = {
  store: (account: string) => `zca${encodeURIComponent(account)}`,
  removed: (store: string) => `zcr${store}`,
  /** The prefix of all stores that are being removed. */
  allRemoved: () => 'zcr',
  /** The prefix of all accounts. */
  stores: () => 'zca',
  sum: (store: string) => `zcs${store}`,
  entries: (store: string) => `zce${store}/`,
  entry: (store: string, hash: string) => `zce${store}/${hash}`,
  orders: (store: string) => `zco${store}/`,
  order: (store: string, hash: string) => `zco${store}/${hash}`,
  uses: (store: string) => `zci${store}/`,
  use: (store: string, order: string, hash: string) => `zci${store}/${order}/${hash}`,
  expiry: (time: number, store: string, hash: string) => `${cacheKeys.expiryBound(time)}/${store}/${hash}`,
  expiries: () => 'zcx',
  expiryBound: (time: number) => `zcx${String(Math.max(0, Math.floor(time))).padStart(15, '0')}`,
  urls: (store: string) => `zcu${store}/`,
  /** The entries whose URLs, without the scheme, begin with the text. */
  urlsFrom: (store: string, text: string) => `zcu${store}/${text}`,
  url: (store: string, url: string, hash: string) => `zcu${store}/${withoutScheme(url)}\0${hash}`,
  tags: (store: string) => `zct${store}/`,
  tagged: (store: string, tag: string) => `zct${store}/${encodeURIComponent(tag)}/`,
  tag: (store: string, tag: string, hash: string) => `${cacheKeys.tagged(store, tag)}${hash}`,
} as const;

/** The first letters of the keys above. */
export const CACHE_KEYSPACE: readonly string[] = ['zc'];

/** Host, path and query of a URL of http or https. */
export function withoutScheme(url: string): string {
  return url.slice(url.indexOf('://') + 3);
}

/** The hash at the end of a key. */
export function hashOf(key: string): string {
  return key.slice(-HASH_LENGTH);
}

/** 192 bits of SHA-256 as base64url. */
export const HASH_LENGTH = 32;
