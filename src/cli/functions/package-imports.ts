/** Imports of packages, which nothing but a bundler resolves. */
import { type Expression, parse } from 'acorn';
import { simple } from 'acorn-walk';
import type { ModuleSource } from '../../host/deploy/deployment.js';

/** Longer text is taken for a bundle, as when modules are collected. */
const MAX_PARSED_LENGTH = 1024 * 1024;
const MAY_IMPORT = /\b(?:from|import)\b[^'"`;]{0,100}?['"][^./'"]/;
/** `hono`, `@scope/name`; not `./file`, `/file`, `node:crypto`, `edgehost:workers`, `https://...`. */
const PACKAGE = /^@?[\w-][\w.-]*(?:\/[^:]*)?$/;

/** The first package that one of the modules imports; undefined when none does. Text that does not parse has none: load() says why. */
export function importedPackage(modules: Readonly<Record<string, ModuleSource>>): string | undefined {
  for (const module of Object.values(modules)) {
    const text = textOf(module);
    const found = text === undefined ? undefined : packageIn(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function textOf(module: ModuleSource): string | undefined {
  if (typeof module === 'string') return module;
  if (module instanceof Uint8Array || module.type !== 'esm') return undefined;
  return typeof module.source === 'string' ? module.source : undefined;
}

function packageIn(text: string): string | undefined {
  if (text.length > MAX_PARSED_LENGTH || !MAY_IMPORT.test(text)) return undefined;
  let found: string | undefined;
  const visit = ({ source }: { readonly source?: Expression | null | undefined }): void => {
    if (source?.type !== 'Literal' || typeof source.value !== 'string') return;
    if (PACKAGE.test(source.value)) found ??= source.value;
  };
  try {
    simple(parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true }), {
      ImportDeclaration: visit,
      ExportNamedDeclaration: visit,
      ExportAllDeclaration: visit,
      ImportExpression: visit,
    });
  } catch {
    return undefined;
  }
  return found;
}
