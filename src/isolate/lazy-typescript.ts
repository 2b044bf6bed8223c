/** The parser of TypeScript, loaded for the first source that is not JavaScript: it has a bundle of its own, larger than the other parser's. */
import { createRequire } from 'node:module';

type TypeScript = typeof import('./source/strip-types.js');

const require = createRequire(import.meta.url);
/** The bundle of strip-types.ts, beside the one that has this file. */
const BUNDLE = './typescript.bundle.cjs';

let loaded: TypeScript | undefined;

export function typeScript(): TypeScript {
  loaded ??= load();
  return loaded;
}

function load(): TypeScript {
  return require(BUNDLE);
}
