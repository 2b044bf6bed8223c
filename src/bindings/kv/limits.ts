/** The limits of key-value namespaces, which are the same for every plan. */
export const KV_LIMITS = {
  /** A key or a prefix, in UTF-8. */
  keyBytes: 512,
  /** A value: 25 MiB. */
  valueBytes: 25 * 2 ** 20,
  /** The metadata of a key, as JSON in UTF-8. */
  metadataBytes: 1024,
  /** The keys of one call of get(). */
  bulkKeys: 100,
  /** The values that one call of get() returns for several keys, together. */
  bulkBytes: 25 * 2 ** 20,
  /** The pairs or keys that one request of the management API puts or deletes. */
  bulkPairs: 10_000,
  /** The body of such a request: 100 MB. */
  bulkPutBytes: 100_000_000,
  /** The keys of a page. */
  listKeys: 1000,
  minTtlSeconds: 60,
  minCacheTtlSeconds: 30,
  /** The largest time of expiry, in seconds since 1970: the end of the year 9999. */
  maxExpiration: 253_402_300_799,
  /** The namespaces of an account. */
  namespaces: 1000,
  /** A page ends early when its metadata is larger. */
  listMetadataBytes: 512 * 1024,
  /** The keys that a page passes over because they have expired; it ends early after that many. */
  listExpiredKeys: 1000,
} as const;
