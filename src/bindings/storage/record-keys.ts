/**
 * Where everything is in LevelDB: the first letter of a key tells the kind of its record. Bucket ids, body ids and upload
 * ids are made by the storage and hold no "/" but where it is shown here.
 *
 *     b<account>/<bucket name>               a bucket
 *     o<bucket id>/<key>                     an object, with its value when that is small
 *     l<bucket id>/g<depth>/<group>          how many keys begin with it, see bucket/listing-index.ts
 *     l<bucket id>/o<depth>/<key>            an object with so many slashes
 *     u<bucket id>/<key>\0\0<upload id>      an upload
 *     p<upload id>/<part number>             a part
 *     x<time>/<bucket id>/<upload id>        when an upload expires; the value is its key
 *     i<body id>                             the bytes of a body that is not in a file
 *     f<body id>                             a body file is in use
 *     s<body id>                             the list of bodies that make up an object uploaded in parts
 *     t<body id>                             a body nothing refers to any more: its space is to be given back
 *     h<directory>                           body files of this directory may be in use or not: look after a crash
 *     m<name>/<key>                          records of other parts of the host
 */
export const recordKeys = {
  bucket: (account: string, name: string) => `b${account}/${name}`,
  objects: (bucketId: string) => `o${bucketId}/`,
  /** Of every bucket. */
  allObjects: () => 'o',
  groups: (bucketId: string, depth: number) => `l${bucketId}/g${depth}/`,
  leaves: (bucketId: string, depth: number) => `l${bucketId}/o${depth}/`,
  listingIndex: (bucketId: string) => `l${bucketId}/`,
  /** Of every bucket. */
  listingIndexes: () => 'l',
  uploads: (bucketId: string) => `u${bucketId}/`,
  /** Of keys that start with `prefix`. */
  uploadsOf: (bucketId: string, prefix: string) => `u${bucketId}/${escapeNul(prefix)}`,
  upload: (bucketId: string, key: string, uploadId: string) => `u${bucketId}/${uploadOrder(key)}${uploadId}`,
  parts: (uploadId: string) => `p${uploadId}/`,
  part: (uploadId: string, partNumber: number) => `p${uploadId}/${String(partNumber).padStart(5, '0')}`,
  expiry: (time: number, bucketId: string, uploadId: string) =>
    `${recordKeys.expiryBound(time)}/${bucketId}/${uploadId}`,
  expiryBound: (time: number) => `x${String(Math.max(0, Math.floor(time))).padStart(15, '0')}`,
  inlineBody: (id: string) => `i${id}`,
  fileBody: (id: string) => `f${id}`,
  bodyList: (id: string) => `s${id}`,
  trash: (id: string) => `t${id}`,
  shard: (directory: string) => `h${directory}`,
  sublevel: (name: string) => `m${name}/`,
} as const;

/** Uploads come in the order of their keys, then of their ids, also for keys that hold U+0000. */
function uploadOrder(key: string): string {
  return `${escapeNul(key)}\0\0`;
}

function escapeNul(key: string): string {
  return key.includes('\0') ? key.replaceAll('\0', '\0\x01') : key;
}
