/** The value of a record whose key says everything, and the content of an empty body. */
export const NO_BYTES = new Uint8Array(0);
