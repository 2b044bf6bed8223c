/** Where the package that is running comes from, for the package.json of a new project: its version is of use only where a registry has it. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../quotas/schema/describe.js';

export interface OwnDependency {
  /** As package.json has it: `^1.2.3`, or `file:` and a path from the folder of the project. */
  readonly spec: string;
  /** The folder or tarball, when it does not come from a registry. */
  readonly path: string | undefined;
}

/** The folder of this package: this file is in dist/src/cli/init. */
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** @param folder the project's folder, absolute */
export function ownDependency(folder: string, root = ROOT): OwnDependency {
  const own = realpathSync(root);
  const path = localSource(own);
  if (path !== undefined) return { spec: `file:${relative(folder, path).split(sep).join('/')}`, path };
  const { version } = jsonOf(join(own, 'package.json'));
  return { spec: `^${String(version)}`, path: undefined };
}

/** A checkout, or the folder or tarball that npm or pnpm has installed it from. */
function localSource(own: string): string | undefined {
  const modules = dirname(own);
  if (basename(modules) !== 'node_modules') return own;
  const project = projectOf(modules);
  const manifest = jsonOf(join(project, 'package.json'));
  const lock = jsonOf(join(modules, '.package-lock.json'));
  const specs = [
    ...['dependencies', 'devDependencies', 'optionalDependencies'].map(kind => at(manifest, kind, 'edgehost')),
    at(lock, 'packages', 'node_modules/edgehost', 'resolved'),
  ];
  for (const spec of specs) {
    const [, path] = typeof spec === 'string' ? (/^(?:file|link):(.*)$/.exec(spec) ?? []) : [];
    const source = path === undefined ? undefined : resolve(project, path);
    if (source !== undefined && existsSync(source)) return source;
  }
  return undefined;
}

/** The folder of the package.json that names the package. pnpm has packages in node_modules/.pnpm/NAME/node_modules. */
function projectOf(modules: string): string {
  const [project = '', ofPnpm] = modules.split(`${sep}node_modules${sep}.pnpm${sep}`);
  return ofPnpm === undefined ? dirname(modules) : project;
}

function at(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

/** Empty when the file is missing. */
function jsonOf(path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
