/** Names under which others register theirs, by the Public Suffix List. The list is loaded when it is first asked. */
import { createRequire } from 'node:module';
import type * as Tldts from 'tldts';

/** `registry`: of a registry of top-level domains, as `co.uk`. `private`: of a company that gives names away, as `github.io`. */
export type SuffixKind = 'registry' | 'private';

let list: typeof Tldts | undefined;

/** Undefined for a name that is not a public suffix. */
export function publicSuffixKind(name: string): SuffixKind | undefined {
  // Not import(): names are checked where nothing can wait, between the check of a route and its use.
  list ??= createRequire(import.meta.url)('tldts') as typeof Tldts; // what the package exports
  const { publicSuffix, isIcann, isPrivate } = list.parse(name, { allowPrivateDomains: true, validateHostname: false });
  if (publicSuffix !== name) return undefined;
  if (isIcann === true) return 'registry';
  return isPrivate === true ? 'private' : undefined;
}
