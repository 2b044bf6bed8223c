/**
 * `npm run ablate -- --only R9`: takes the code of each rule out of a built copy of this package, and checks that the test that
 * docs/security.md names fails without it. A rule whose test passes without its code is no rule that is kept.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { transform } from 'esbuild';
import { ABLATIONS, type Ablation, isToBeHad, testTitle } from './table.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const COPIED = ['.scripts', 'dist', 'docs', 'package.json', 'src', 'test/attacks/native'];

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const scratch = mkdtempSync(join(tmpdir(), 'edgehost-ablate-'));
// The cells of the copy run as a user without rights, who must be able to read it.
chmodSync(scratch, 0o755);
let unproven = 0;
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(scratch, name), { recursive: true });
  symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(scratch, 'node_modules'));
  const chosen = ABLATIONS.filter(({ rule }) => values.only === '' || values.only.split(',').includes(rule)).filter(
    isToBeHad,
  );
  // The tests must pass as long as everything is there.
  for (const file of new Set(chosen.map(({ test }) => test))) {
    const titles = chosen.filter(({ test }) => test === file).map(testTitle);
    const { failed, text } = await failures(file, titles);
    for (const title of titles)
      if (failed(title)) throw new Error(`fails with the rules in place: ${file}: ${title}\n${text}`);
  }
  for (const ablation of chosen) {
    const { rule, without } = ablation;
    const isProven = await isMissed(ablation);
    if (!isProven) unproven++;
    console.log(
      `${isProven ? 'fails' : 'PASSES'} without ${rule}, ${without}: ${ablation.test}: ${testTitle(ablation)}`,
    );
  }
  console.log(`${chosen.length - unproven} of ${chosen.length} ablations are noticed by their test`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = unproven === 0 ? 0 : 1;

/** Whether the test fails when the code is gone. */
async function isMissed(ablation: Ablation): Promise<boolean> {
  const { file, find, replace, test } = ablation;
  const path = join(scratch, file);
  const built = builtPath(file);
  const source = readFileSync(path, 'utf8');
  if (source.split(find).length !== 2) throw new Error(`${file} does not have "${find}" once`);
  const before = built === undefined ? undefined : readFileSync(built);
  const patched = source.replace(find, () => replace);
  writeFileSync(path, patched);
  if (built !== undefined)
    writeFileSync(built, (await transform(patched, { loader: 'ts', format: formatOf(file) })).code);
  try {
    const { code } = await run(['.scripts/bundle-isolate.mjs']);
    if (code !== 0) throw new Error(`${file} does not build without "${find}"`);
    return (await failures(test, [testTitle(ablation)])).failed(testTitle(ablation));
  } finally {
    writeFileSync(path, source);
    if (built !== undefined && before !== undefined) writeFileSync(built, before);
  }
}

/** The output of tsc for a file; undefined for files that are bundled from their source, or are not source. */
function builtPath(file: string): string | undefined {
  if (file.startsWith('src/guest/') || !file.startsWith('src/')) return undefined;
  return join(scratch, 'dist', file.replace(/ts$/, 'js'));
}

function formatOf(file: string): 'cjs' | 'esm' {
  return file.endsWith('.cts') ? 'cjs' : 'esm';
}

/** Runs tests of one file; answers whether one of them has failed, which it also has when the run ended before it did. */
async function failures(
  file: string,
  titles: readonly string[],
): Promise<{ failed(title: string): boolean; readonly text: string }> {
  const matches = titles.flatMap(title => ['--match', title.replaceAll('*', '\\*')]);
  const { text } = await run([
    'node_modules/ava/entrypoints/cli.mjs',
    '--no-color',
    '--timeout=30s',
    `dist/${file.replace(/\.ts$/, '.js')}`,
    ...matches,
  ]);
  const passed = new Set(
    Array.from(text.matchAll(/^ {2}[✔√] (?:\[expected fail\] )?(.*?)(?: \([\d.]+m?s\))?$/gm), match => match[1]),
  );
  // A file that does not load says nothing of its tests.
  if (!/^ {2}[✘×✔√] /m.test(text)) throw new Error(`No test was run:\n${text}`);
  return { failed: title => !passed.has(title), text };
}

function run(args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(process.execPath, args, { cwd: scratch, stdio: ['ignore', 'pipe', 'ignore'] });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', code =>
      resolve({ code, text: stripVTControlCharacters(Buffer.concat(pieces).toString('utf8')) }),
    );
  });
}
