/** The text of a module before it is compiled, and the engine's hook for import(). */
import { parser } from '../lazy-parser.js';
import { failureAt, lineAndColumn, type OriginalOf } from '../load-error.js';
import { mayImport } from './import-scan.js';

/** A hashbang line may only be the first; after a prefix it becomes a comment. */
export function behind(prefix: string, source: string): string {
  return prefix !== '' && source.startsWith('#!') ? `${prefix}//${source.slice(2)}` : prefix + source;
}

/** The hook is never reached by rewritten code. A primitive, so that nothing of this realm is thrown into the guest. */
export function refuseDynamicImport(): never {
  throw 'import() is not available';
}

/** Classic scripts have no modules to import. */
export function refuseImports(source: string, name: string, original: OriginalOf): void {
  if (!mayImport(source)) return;
  const [first] = parser()
    .importsIn(source, 'script')
    .sort((a, b) => a.start - b.start);
  if (first === undefined) return;
  const message = 'import() is not available in a classic script; deploy an ES module';
  const failure = { code: 'EDGE_SCRIPT_SYNTAX', name: 'SyntaxError', message } as const;
  throw failureAt(failure, name, lineAndColumn(source, first.start), original);
}
