/** SHA-256 of the launchers in native/, by `process.arch`. Written by .scripts/confine.mjs. */
export const CONFINE_HASHES: Readonly<Record<string, string>> = {
  x64: '3245bedd659369f067026a5dcbe695c6ded9f5b98ca1d9c715fa896a691b945b',
  arm64: 'c4de734ad77961e08cd9d77b49d345a389911d7cb0d871ee97098dc65f078215',
};
