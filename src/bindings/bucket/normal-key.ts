/**
 * The form in which keys, and the prefixes and delimiters of listings, are compared: Unicode normalisation form C. Lone surrogates have no UTF-8 and
 * become U+FFFD, as everywhere on the web.
 */
export function normalKey(key: string): string {
  return key.replace(/\p{Surrogate}/gu, '\ufffd').normalize();
}
