/**
 * Builds native/confine.c for Linux on x64 and arm64. The programs are committed, so that installing the package needs no compiler:
 *
 *   node .scripts/confine.mjs          builds both, and writes their hashes to src/pool/sandbox/confine-hashes.ts
 *   node .scripts/confine.mjs --check  builds both elsewhere and compares every byte
 *   node .scripts/confine.mjs --copy   copies the committed programs beside the compiled code (part of `npm run build`)
 *
 * The same compiler always makes the same bytes. Another release of it may not: then --check compares the hashes alone, and says so.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = 'native/confine.c';
const HASHES = join(ROOT, 'src/pool/sandbox/confine-hashes.ts');
const COMPILERS = { x64: 'gcc', arm64: 'aarch64-linux-gnu-gcc' };
/** The release that made the committed programs. */
const RELEASE = '12.2.0';
const FLAGS = [
  ...[
    '-std=c11',
    '-Os',
    '-static',
    '-nostdlib',
    '-ffreestanding',
    '-fno-builtin',
    '-fno-tree-loop-distribute-patterns',
  ],
  ...['-fno-stack-protector', '-fno-pie', '-no-pie', '-fno-asynchronous-unwind-tables', '-fno-ident'],
  ...['-Wall', '-Wextra', '-Werror', '-Wl,--build-id=none', '-Wl,-z,noexecstack', '-s'],
];

const nameFor = architecture => `edgehost-confine-linux-${architecture}`;
const committed = architecture => join(ROOT, 'native', nameFor(architecture));
const hashOf = path => createHash('sha256').update(readFileSync(path)).digest('hex');

function releaseOf(compiler) {
  try {
    return execFileSync(compiler, ['-dumpfullversion'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

function build(architecture, path) {
  execFileSync(COMPILERS[architecture], [...FLAGS, '-o', path, SOURCE], { cwd: ROOT, stdio: 'inherit' });
  chmodSync(path, 0o755);
}

function table() {
  const rows = Object.keys(COMPILERS).map(architecture => `  ${architecture}: '${hashOf(committed(architecture))}',`);
  return `/** SHA-256 of the launchers in native/, by \`process.arch\`. Written by .scripts/confine.mjs. */
export const CONFINE_HASHES: Readonly<Record<string, string>> = {
${rows.join('\n')}
};
`;
}

function check() {
  if (readFileSync(HASHES, 'utf8') !== table()) {
    throw new Error('src/pool/sandbox/confine-hashes.ts is out of date: run node .scripts/confine.mjs');
  }
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-confine-'));
  try {
    for (const [architecture, compiler] of Object.entries(COMPILERS)) {
      const release = releaseOf(compiler);
      if (release !== RELEASE) {
        console.log(
          `${architecture}: hash compared, bytes not: ${compiler} is ${release ?? 'not installed'}, not ${RELEASE}`,
        );
        continue;
      }
      const path = join(folder, nameFor(architecture));
      build(architecture, path);
      if (hashOf(path) !== hashOf(committed(architecture))) {
        throw new Error(
          `native/${nameFor(architecture)} is not what ${SOURCE} compiles to: run node .scripts/confine.mjs`,
        );
      }
      console.log(`${architecture}: the same bytes, ${readFileSync(path).length} of them`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copy() {
  const folder = join(ROOT, 'dist/src/native');
  mkdirSync(folder, { recursive: true });
  for (const architecture of Object.keys(COMPILERS)) {
    const path = join(folder, nameFor(architecture));
    copyFileSync(committed(architecture), path);
    chmodSync(path, 0o755);
  }
}

const [mode] = process.argv.slice(2);
if (mode === '--check') check();
else if (mode === '--copy') copy();
else if (mode === undefined) {
  for (const architecture of Object.keys(COMPILERS)) build(architecture, committed(architecture));
  writeFileSync(HASHES, table());
} else throw new Error(`Unknown argument "${mode}": expected --check, --copy or none`);
