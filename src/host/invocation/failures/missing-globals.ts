/** Hints for authors who use variables of other runtimes, which functions do not have. */

const COMMON_JS: ReadonlySet<string> = new Set(['module', 'exports', 'require', '__dirname', '__filename']);
const NOT_THERE: ReadonlySet<string> = new Set([
  'Atomics',
  'Buffer',
  'EventSource',
  'FinalizationRegistry',
  'HTMLRewriter',
  'SharedArrayBuffer',
  'WebAssembly',
  'clearImmediate',
  'global',
  'process',
  'setImmediate',
]);

/** @returns the end of a sentence, or '' where nothing is to be said */
export function hintAboutGlobal(message: string): string {
  if (message.startsWith('Code generation from strings disallowed'))
    return '. Functions compile no text, by eval() or new Function(): docs/functions.md says what to do in its place';
  const missing = /^([\w$]+) is not defined$/.exec(message)?.[1] ?? '';
  if (COMMON_JS.has(missing))
    return '. CommonJS is not loaded: bundle the function as an ES module, for example by esbuild --bundle --format=esm';
  if (NOT_THERE.has(missing))
    return `. Functions have no ${missing}: docs/functions.md says what there is in its place`;
  return '';
}
