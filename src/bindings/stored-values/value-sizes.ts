/** Where values are kept, by their size in bytes. */

/** Values up to this size are in the record of their key. That saves a read, but listings read them too. */
export const EMBEDDED_BYTES = 2048;
/** Values up to this size are in LevelDB, larger ones in files. */
export const INLINE_BYTES = 64 * 1024;
