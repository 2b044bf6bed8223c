/** The advice to an author whose code imports a module that the deployment does not have. */
import { BUILT_IN_SPECIFIERS } from './built-in-modules.js';
import { NODE_FLAG, NODE_MODULES_FROM, nodeModuleOf } from './node-modules.js';

const PACKAGE = /^[\w@#]/;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

const NODE_HINT = `: Node's modules need the compatibility flag "${NODE_FLAG}" or a compatibility date from ${NODE_MODULES_FROM} on`;

const RUN_HINT = ': code in a sandbox has tools and globals, and no modules of Node or packages';

interface Importer {
  /** The function can import Node's modules. */
  readonly hasNode: boolean;
  /** Defined for the code of a run. */
  readonly mainOfRun: string | undefined;
}

/** The end of a sentence such as `"a.js" imports "node:fs", which is not among the modules of the deployment`. */
export function hintAboutMissing(specifier: string, { hasNode, mainOfRun }: Importer): string {
  const scheme = SCHEME.exec(specifier)?.[1]?.toLowerCase();
  if (scheme === 'edgehost' || scheme === 'cloudflare') {
    return `: the built-in modules are ${BUILT_IN_SPECIFIERS.join(', ')}`;
  }
  if (mainOfRun !== undefined) return RUN_HINT;
  if (!hasNode && nodeModuleOf(specifier) !== undefined) return NODE_HINT;
  if (scheme === 'node') return ': Node has no such module';
  if (scheme === 'http' || scheme === 'https') return ': nothing is imported over the network';
  if (scheme !== undefined) return `: there are no modules ${scheme}: in functions`;
  if (specifier.endsWith('.wasm')) return ': WebAssembly is not available in functions';
  if (PACKAGE.test(specifier)) return ': packages have to be bundled with the function, for example by esbuild';
  return '';
}
