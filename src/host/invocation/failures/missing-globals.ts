/** Hints for authors who use variables of other runtimes, which functions do not have. */

const COMMON_JS: ReadonlySet<string> = new Set(['module', 'exports', 'require', '__dirname', '__filename']);
/** Node's names, which functions have by the compatibility date. */
const OF_NODE: ReadonlySet<string> = new Set(['Buffer', 'clearImmediate', 'global', 'process', 'setImmediate']);
const NOT_THERE: ReadonlySet<string> = new Set(['Atomics', 'FinalizationRegistry', 'SharedArrayBuffer', 'WebAssembly']);

/** @returns the end of a sentence, or '' where nothing is to be said */
export function hintAboutGlobal(message: string): string {
  if (message.startsWith('Code generation from strings disallowed'))
    return '. Functions compile no text, by eval() or new Function(): docs/functions.md says what to do in its place';
  const missing = /^([\w$]+) is not defined$/.exec(message)?.[1] ?? '';
  if (COMMON_JS.has(missing))
    return '. CommonJS is not loaded: bundle the function as an ES module, for example by esbuild --bundle --format=esm';
  if (OF_NODE.has(missing))
    return `. Functions have ${missing} with the compatibility flag "nodejs_compat", and from the compatibility date 2026-08-04 on`;
  if (NOT_THERE.has(missing))
    return `. Functions have no ${missing}: docs/functions.md says what there is in its place`;
  return '';
}
