/** Finds the configuration file of a folder, and follows the redirect that a build tool has written beside it. */
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { isObject } from '../../../quotas/schema/describe.js';
import { isInside } from '../../../storage/files/inside-folder.js';
import { readerOf } from '../reading/config-reader.js';
import { isFile, textOf } from '../reading/file-text.js';

export const CONFIG_NAME = 'edgehost.toml';
/** The hosted platform's own order. */
const WRANGLER_NAMES = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'];
const REDIRECT = join('.wrangler', 'deploy', 'config.json');

/** The configuration file in a folder; undefined when it has none. A redirect alone is one, too. */
export async function configurationIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  const name = [CONFIG_NAME, ...WRANGLER_NAMES].find(each => names.includes(each));
  if (name !== undefined) return join(folder, name);
  return (await isFile(join(folder, REDIRECT))) ? join(folder, REDIRECT) : undefined;
}

/** Whether a file has the keys of the hosted platform. */
export function isWranglerFile(file: string): boolean {
  return /\.jsonc?$/.test(file) || /(?:^|[\\/])wrangler[^\\/]*\.toml$/.test(file);
}

export interface Redirected {
  /** The file that counts. */
  readonly file: string;
  /** The file that led to it; undefined without one. */
  readonly redirect: string | undefined;
}

/**
 * @param file a configuration file of the hosted platform, or the redirect itself
 * @throws EdgeError EDGE_CONFIG_INVALID for a redirect that leads nowhere, or out of the folder
 */
export async function redirectedFile(file: string): Promise<Redirected> {
  const isRedirect = file.endsWith(REDIRECT);
  const folder = isRedirect ? dirname(dirname(dirname(file))) : dirname(file);
  const redirect = isRedirect ? file : join(folder, REDIRECT);
  if (!(isRedirect || isUsual(file)) || !(await isFile(redirect))) return { file, redirect: undefined };
  const reader = readerOf(redirect, await textOf(redirect));
  const target = isObject(reader.root) ? reader.root.configPath : undefined;
  if (typeof target !== 'string' || target === '')
    throw reader.error([], 'configPath is missing, expected the path of a file');
  const found = resolve(dirname(redirect), target);
  const info = await stat(found).catch(() => undefined);
  if (info?.isFile() !== true) {
    throw reader.error(['configPath'], `configPath is "${target}", and there is no such file: build the project again`);
  }
  if (!isInside(await realpath(folder), await realpath(found)))
    throw reader.error(['configPath'], `configPath is "${target}", which is outside of the folder of the project`);
  return { file: join(dirname(redirect), target), redirect };
}

/** A file of another name is meant by whoever named it. */
function isUsual(file: string): boolean {
  return WRANGLER_NAMES.some(name => resolve(file).endsWith(sep + name));
}
