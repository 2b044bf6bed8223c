/**
 * Where buckets keep their records in the storage: the first letter of a key is the kind of its record. Bucket ids and
 * upload ids are made by the host and hold no "/".
 *
 *     b<account>/<bucket name>               a bucket
 *     o<bucket id>/<key>                     an object, with its value when that is small
 *     l<bucket id>/g<depth>/<group>          how many keys begin with the group, see listing-index.ts
 *     l<bucket id>/o<depth>/<key>            an object whose key has this many slashes
 *     u<bucket id>/<key>\0\0<upload id>      an upload
 *     p<upload id>/<part number>             a part
 *     r<bucket id>                           a bucket of an account that was removed: all that it has is being removed
 *     x<time>/<bucket id>/<upload id>        when an upload expires; the value is its key
 */
export const bucketKeys = {
  /** The prefix of all buckets. */
  allBuckets: () => 'b',
  objects: (bucketId: string) => `o${bucketId}/`,
  /** The prefix of all buckets. */
  allObjects: () => 'o',
  groups: (bucketId: string, depth: number) => `l${bucketId}/g${depth}/`,
  leaves: (bucketId: string, depth: number) => `l${bucketId}/o${depth}/`,
  listingIndex: (bucketId: string) => `l${bucketId}/`,
  /** The prefix of all buckets. */
  listingIndexes: () => 'l',
  uploads: (bucketId: string) => `u${bucketId}/`,
  /** The uploads whose keys start with `prefix`. */
  uploadsOf: (bucketId: string, prefix: string) => `u${bucketId}/${escapeNul(prefix)}`,
  upload: (bucketId: string, key: string, uploadId: string) => `u${bucketId}/${uploadOrder(key)}${uploadId}`,
  parts: (uploadId: string) => `p${uploadId}/`,
  part: (uploadId: string, partNumber: number) => `p${uploadId}/${String(partNumber).padStart(5, '0')}`,
  removed: (bucketId: string) => `r${bucketId}`,
  /** The prefix of all buckets. */
  removedBuckets: () => 'r',
  expiry: (time: number, bucketId: string, uploadId: string) =>
    `${bucketKeys.expiryBound(time)}/${bucketId}/${uploadId}`,
  expiryBound: (time: number) => `x${String(Math.max(0, Math.floor(time))).padStart(15, '0')}`,
} as const;

/** The first letters of the keys above. */
export const BUCKET_KEYSPACE: readonly string[] = ['b', 'o', 'l', 'u', 'p', 'r', 'x'];

/** Sorts uploads by their keys, then by their ids, also for keys that contain U+0000. */
function uploadOrder(key: string): string {
  return `${escapeNul(key)}\0\0`;
}

function escapeNul(key: string): string {
  return key.includes('\0') ? key.replaceAll('\0', '\0\x01') : key;
}
