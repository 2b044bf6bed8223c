/** The bounds of the storage of stateful objects: the first three equal the limits of the hosted platform. */
const KIB = 1024;

export const OBJECT_STORAGE_LIMITS = {
  /** A key, in bytes of UTF-8. */
  keyBytes: 2 * KIB,
  /** A value, in bytes. */
  valueBytes: 128 * KIB,
  /** Keys of one call of get, put and delete. */
  keys: 128,
  /** Keys that are written together: without an `await` in between, or by one transaction. */
  writeKeys: 4096,
  /** Their bytes, including the bytes of values. */
  writeBytes: 8 * KIB * KIB,
  /** The database of one object. */
  sqlBytes: 64 * KIB * KIB,
  /** The pages of it that are written at once. */
  sqlCommitBytes: 16 * KIB * KIB,
  /** The text of a call of SQL with its values, as JSON. */
  sqlCallBytes: 8 * KIB * KIB,
} as const;

/** The bytes of a value's encoding beside its own bytes: */
export const VALUE_FORM_BYTES = KIB;
/** The size of one answer: values of this many bytes together, and at least one. */
export const PAGE_BYTES = KIB * KIB;
export const PAGE_ENTRIES = 1000;
/** The longest body of a write: of its keys and values, and how they are encoded. */
export const ENTRIES_BYTES = OBJECT_STORAGE_LIMITS.writeBytes + OBJECT_STORAGE_LIMITS.writeKeys * 6;
