/** Which entries of the folder are no assets: names that begin with a dot, the files of rules, and those that `.assetsignore` names. */
import ignore from 'ignore';
import { EdgeError } from '../../../quotas/errors.js';
import { readRuleFile } from '../rules/rule-file.js';

export const HEADERS_FILE = '_headers';
export const REDIRECTS_FILE = '_redirects';
const IGNORE_FILE = '.assetsignore';
/** The server code of a build for another product of the platform, which must not become public by mistake. */
const SERVER_CODE = '_worker.js';
/** Well-known URIs (RFC 8615) are made to be public. */
const PUBLIC_HIDDEN = '.well-known';

export interface IgnoreRules {
  /**
   * Whether an entry is left out. `path` is relative to the folder, with slashes, and ends with one for a folder.
   * @throws EdgeError EDGE_CONFIG_INVALID for server code that nothing excludes
   */
  ignores(path: string): boolean;
}

/** Rejects as `readRuleFile` does. */
export async function ignoreRulesOf(root: string, hiddenFiles: boolean): Promise<IgnoreRules> {
  const text = await readRuleFile(root, IGNORE_FILE);
  const patterns = ignore().add(text ?? '');
  const meta = new Set([IGNORE_FILE, HEADERS_FILE, REDIRECTS_FILE]);
  return {
    ignores(path) {
      if (meta.has(path)) return true;
      const name = path.endsWith('/')
        ? path.slice(path.lastIndexOf('/', path.length - 2) + 1, -1)
        : path.slice(path.lastIndexOf('/') + 1);
      if (!hiddenFiles && name.startsWith('.') && name !== PUBLIC_HIDDEN) return true;
      if (text !== undefined) return patterns.ignores(path);
      if (path !== SERVER_CODE && path !== `${SERVER_CODE}/`) return false;
      throw new EdgeError(
        'EDGE_CONFIG_INVALID',
        `The assets in ${root} have ${SERVER_CODE}, which is code of a server: remove it, or name it in ${IGNORE_FILE}; an empty ${IGNORE_FILE} makes it public`,
      );
    },
  };
}
