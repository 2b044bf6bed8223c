// Removes from dist/src what is of no use in an installed package: declarations that those of its entries do not reach, and the comments of compiled
// code. What applications can use is documented in the declarations.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parse } from 'acorn';

const ROOT = 'dist/src';
const DECLARATION_ENTRIES = ['index.d.ts', 'index.d.cts', 'ai.d.ts', 'next.d.ts', 'worker.d.ts', 'worker/dom.d.ts'];

const files = readdirSync(ROOT, { recursive: true }).map(name => join(ROOT, name));

const reachable = new Set();
const next = DECLARATION_ENTRIES.map(name => join(ROOT, name));
for (let file = next.pop(); file !== undefined; file = next.pop()) {
  if (reachable.has(file)) continue;
  if (!existsSync(file)) throw new Error(`The declarations ${file} are missing, which others import`);
  reachable.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path] of text.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g))
    next.push(normalize(join(dirname(file), path.replace(/\.(c?)js$/, '.d.$1ts'))));
  for (const [, path] of text.matchAll(/^\/\/\/ <reference path="([^"]+)"/gm)) next.push(join(dirname(file), path));
}
for (const file of files) if (/\.d\.c?ts$/.test(file) && !reachable.has(file)) rmSync(file);

/** The code without its comments. Its lines stay where they are, so that source maps and stacks stay right. */
function withoutComments(code) {
  const comments = [];
  parse(code, { ecmaVersion: 'latest', sourceType: 'module', onComment: comments });
  let text = '';
  let at = 0;
  for (const { start, end, value } of comments) {
    // Bundlers of applications read it.
    if (value.includes('webpackIgnore') || value.startsWith('# sourceMappingURL=') || code.startsWith('#!', start))
      continue;
    const lines = value.split('\n').length - 1;
    // What stood on both sides of a comment in the middle of a line must not become one word.
    const space = lines === 0 && code[end] !== '\n' ? ' ' : '';
    text += code.slice(at, start).replace(/[ \t]+$/, '') + space + '\n'.repeat(lines);
    at = end;
  }
  return text + code.slice(at);
}

for (const file of files) {
  if (!file.endsWith('.js') || file.endsWith('.bundle.js')) continue;
  writeFileSync(file, withoutComments(readFileSync(file, 'utf8')));
}
