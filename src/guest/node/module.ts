/** node:module, as far as modules are required by name. */
import { codeError, invalidArgType } from './errors.ts';
import { requireNode } from './options.ts';
import { hasNodeModule, nodeModuleNames } from './unsupported.ts';

const SCHEME = 'node:';
/** Names without a bare form. */
const ONLY_WITH_SCHEME = ['sea', 'sqlite', 'test', 'test/reporters'];

const builtinModules = nodeModuleNames()
  .filter(name => !ONLY_WITH_SCHEME.includes(name))
  .sort();

/** The name of a module without its scheme; undefined for everything else. */
function nameOf(specifier: string): string | undefined {
  const name = specifier.startsWith(SCHEME) ? specifier.slice(SCHEME.length) : specifier;
  if (!hasNodeModule(name) || (name === specifier && ONLY_WITH_SCHEME.includes(name))) return undefined;
  return name;
}

function isBuiltin(specifier: unknown): boolean {
  return typeof specifier === 'string' && nameOf(specifier) !== undefined;
}

/** The modules of the deployment are ES modules, which are imported and not required. */
function requireModule(specifier: unknown): unknown {
  if (typeof specifier !== 'string') throw invalidArgType('id', 'string', specifier);
  const name = nameOf(specifier);
  if (name !== undefined) return requireNode(name);
  const message = `Cannot find module '${specifier}': require() finds Node's modules; import modules of the deployment, or bundle them`;
  throw codeError(Error, 'MODULE_NOT_FOUND', message);
}

function resolve(specifier: unknown): string {
  if (typeof specifier === 'string' && nameOf(specifier) !== undefined) return specifier;
  throw codeError(Error, 'MODULE_NOT_FOUND', `Cannot find module '${String(specifier)}'`);
}

function createRequire(from: unknown): unknown {
  if (typeof from !== 'string' && !(typeof from === 'object' && from !== null && 'href' in from)) {
    const message = `The argument 'filename' must be a file URL object, file URL string, or absolute path string. Received ${String(from)}`;
    throw codeError(TypeError, 'ERR_INVALID_ARG_VALUE', message);
  }
  const require = (specifier: unknown): unknown => requireModule(specifier);
  return Object.assign(require, { resolve, cache: Object.create(null), main: undefined });
}

const moduleModule = { builtinModules, createRequire, isBuiltin };

export default moduleModule;
