/** SHA-256 of the launchers in native/, by `process.arch`. Written by .scripts/confine.mjs. */
export const CONFINE_HASHES: Readonly<Record<string, string>> = {
  x64: 'ac371c5342ddce316e084c21ff5b12853602eaaa920910559751db99ae73852d',
  arm64: '8508c91c0addc3bbeea7151d9be608d27de2294552a95cc803e2310cafca1940',
};
