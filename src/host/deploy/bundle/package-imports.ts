/** Imports of packages, which nothing but a bundler resolves. */
import type { ModuleSource } from '../deployment.js';
import { writtenImports } from '../written-imports.js';

const MAY_IMPORT = /\b(?:from|import)\b[^'"`;]{0,100}?['"][^./'"]/;
/** `hono`, `@scope/name`; not `./file`, `/file`, `node:crypto`, `edgehost:workers`, `https://...`. */
const PACKAGE = /^@?[\w-][\w.-]*(?:\/[^:]*)?$/;

/** The first package that one of the modules imports; undefined when none does. Text that does not parse has none: load() says why. */
export function importedPackage(modules: Readonly<Record<string, ModuleSource>>): string | undefined {
  for (const module of Object.values(modules)) {
    const text = textOf(module);
    const imports = text === undefined ? [] : writtenImports(text, MAY_IMPORT);
    const found = imports.find(({ specifier }) => PACKAGE.test(specifier));
    if (found !== undefined) return found.specifier;
  }
  return undefined;
}

function textOf(module: ModuleSource): string | undefined {
  if (typeof module === 'string') return module;
  if (module instanceof Uint8Array || module.type !== 'esm') return undefined;
  return typeof module.source === 'string' ? module.source : undefined;
}
