import { parseFileBlobId } from '../files/file-blob-id.js';

/**
 * Where the storage keeps its own records: the first letter of a key is the kind of its record. The other letters belong to the owners that
 * are registered when the storage is opened, see storage-owner.ts. Blob ids hold no "/" but where it is shown here.
 *
 *     i<blob id>          the bytes of a blob that is not in a file
 *     f<blob id>          a blob file is in use (the id without the checksum of the file)
 *     s<blob id>          the list of blobs that make up a larger one
 *     t<blob id>          a tombstone: nothing refers to the blob any more, and its space is to be freed
 *     h<directory>        the files of this directory may be in use or not: check them after a crash
 *     m<name>/<key>       records of a sublevel
 *     d<account>          the account is being removed, with all that it has
 *     q<account>          how much the account has stored: bytes and objects
 */
export const recordKeys = {
  inlineBlob: (id: string) => `i${id}`,
  fileBlob: (id: string) => `f${parseFileBlobId(id)?.file ?? id}`,
  blobList: (id: string) => `s${id}`,
  tombstone: (id: string) => `t${id}`,
  shard: (directory: string) => `h${directory}`,
  sublevel: (name: string) => `m${name}/`,
  removal: (account: string) => `d${encodeURIComponent(account)}`,
  /** The prefix of all accounts. */
  removals: () => 'd',
  sum: (account: string) => `q${encodeURIComponent(account)}`,
  /** The prefix of all accounts. */
  sums: () => 'q',
} as const;

/** The first letters of the keys above. No owner can have one of them. */
export const STORAGE_KEYSPACE: readonly string[] = ['i', 'f', 's', 't', 'h', 'm', 'd', 'q'];
