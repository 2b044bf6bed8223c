// The names of Node's modules, as src/isolate/imports/node-modules.ts has them.
import { readFileSync } from 'node:fs';

export function nodeModuleNames() {
  const source = readFileSync(new URL('../src/isolate/imports/node-modules.ts', import.meta.url), 'utf8');
  const list = source.slice(source.indexOf('new Set(\n'), source.indexOf(".split(' ')"));
  const bare = [...list.matchAll(/'([^']+)'/g)].flatMap(([, text]) => text.trim().split(' '));
  const withScheme = /ONLY_WITH_SCHEME[^[]*\[([^\]]*)\]/.exec(source)?.[1] ?? '';
  return [...bare, ...[...withScheme.matchAll(/'([^']+)'/g)].map(([, name]) => name)];
}
