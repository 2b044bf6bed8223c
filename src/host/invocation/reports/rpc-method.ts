/** The name of the method that a call is for, as events and tails tell it. */

/** A longer text was hardly meant as a name. */
const MAX_CHARACTERS = 256;

/** @param path the names to it, none for a stub that is a function; undefined when it is no call */
export function rpcMethodOf({ path }: { readonly path?: readonly string[] | undefined }): string | undefined {
  return path?.join('.').slice(0, MAX_CHARACTERS);
}
