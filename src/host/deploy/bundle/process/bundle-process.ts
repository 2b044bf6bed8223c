/**
 * Bundles the files of a function in a process of its own, behind the sandbox of cells as far as the system has it: a customer may have uploaded them. The
 * process reads the function's folder and packages, and has no network and no folder to write to. Its time, memory and output are bounded.
 */
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_PATH } from '../../../../pool/node-path.js';
import { BUNDLER_RULES } from '../../../../pool/sandbox/bundler-rules.js';
import { type SandboxOption, sandboxFor } from '../../../../pool/sandbox/sandbox.js';
import { spawnBehind } from '../../../../pool/sandbox/spawn.js';
import { EdgeError } from '../../../../quotas/errors.js';
import { guarded } from '../../../../quotas/guarded.js';
import type { FunctionFiles } from '../../function-file.js';
import type { Bundle } from '../bundler.js';
import type { EsbuildFiles } from '../esbuild.js';
import { FunctionError, shownPath } from '../function-error.js';
import { type BundleRequest, bundleOf } from './messages.js';
import { takeBundleTurn } from './turns.js';

const MAIN = fileURLToPath(new URL('./bundle-main.bundle.cjs', import.meta.url));
const FLAGS = ['--no-warnings', '--max-old-space-size=512', '--max-semi-space-size=8'];
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_WORDS_BYTES = 4096;
const MEGABYTE = 1024 * 1024;
const WITHIN_MS = 30_000;
/** Requests are served first. */
const NICE = 10;
const OUT_OF_MEMORY =
  /out of memory|cannot allocate memory|heap limit|The service (?:was stopped|is no longer running)/i;

export interface BundleOptions {
  /** Stands before the names of files in messages. @default the folder, as the person who started the program would write it */
  readonly shownRoot?: string;
  /** @default 30000 */
  readonly withinMs?: number;
  /** @default 64 MiB */
  readonly outputBytes?: number;
}

/**
 * @throws FunctionError with the place of each error of the build
 * @throws EdgeError EDGE_BUNDLE_LIMIT; EDGE_OVERLOADED when too many wait; EDGE_SANDBOX and EDGE_CELL_START as for cells
 */
export async function bundleApart(
  files: FunctionFiles,
  esbuild: EsbuildFiles,
  sandbox: SandboxOption,
  options: BundleOptions = {},
): Promise<Bundle> {
  const root = await realpath(files.root);
  const within = (path: string): string => join(root, relative(files.root, path));
  const { bundling } = files;
  const packageFolders = await packageFoldersAbove(root);
  const request: BundleRequest = {
    esbuild: esbuild.main,
    program: esbuild.program,
    root,
    main: within(files.main),
    rules: files.rules.map(({ kind, glob }) => ({ kind, glob })),
    packageFolders,
    bundling: bundling?.tsconfig === undefined ? bundling : { ...bundling, tsconfig: within(bundling.tsconfig) },
  };
  const reads = [esbuild.folder, root, ...packageFolders];
  const executes = esbuild.program === undefined ? [] : [esbuild.program];
  const { shownRoot = shownPath(files.root) } = options;
  const inRoot = join(root, sep);
  const shown = (text: string): string => text.replaceAll(inRoot, shownRoot === '' ? '' : join(shownRoot, sep));
  const outside = (path: string): string =>
    path.startsWith(inRoot) ? join(shownRoot === '' ? '' : files.root, path.slice(inRoot.length)) : path;
  const release = await takeBundleTurn();
  try {
    // A command of the owner's own is for cells.
    const walls = await sandboxFor(typeof sandbox === 'object' ? 'auto' : sandbox, BUNDLER_RULES);
    const command = [NODE_PATH, ...FLAGS, MAIN];
    const inmate = spawnBehind(walls, command, ['pipe', 'pipe', 'pipe'], { id: undefined, reads, executes });
    inmate.setPriority(NICE);
    const { source, inputs, warnings } = bundleOf(await outputOf(inmate, request, options));
    return { source, inputs: inputs.map(outside), warnings: warnings.map(shown) };
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    const { message, location } = error;
    const place = location?.file === undefined ? {} : { location: { ...location, file: outside(location.file) } };
    throw new FunctionError(shown(message), place);
  } finally {
    release();
  }
}

/** The folders of packages above the function's own. */
async function packageFoldersAbove(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (let folder = dirname(root); ; folder = dirname(folder)) {
    const packages = join(folder, 'node_modules');
    if ((await stat(packages).catch(() => undefined))?.isDirectory() === true) found.push(packages);
    if (folder === dirname(folder)) return found;
  }
}

type BundlerInmate = ReturnType<typeof spawnBehind>;

function outputOf(
  { child, kill }: BundlerInmate,
  request: BundleRequest,
  { withinMs = WITHIN_MS, outputBytes = MAX_OUTPUT_BYTES }: BundleOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const { stdin, stdout, stderr } = child;
    const chunks: Buffer[] = [];
    let length = 0;
    let words = '';
    let ended: EdgeError | undefined;
    const end = (what: string): void => {
      ended ??= new EdgeError('EDGE_BUNDLE_LIMIT', `Cannot bundle the function: ${what}`);
      kill();
    };
    const timer = setTimeout(
      guarded(() => end(`esbuild took more than ${withinMs / 1000} s`)),
      withinMs,
    );
    stdout?.on(
      'data',
      guarded((chunk: Buffer) => {
        length += chunk.length;
        if (length > outputBytes) end(`the bundle is more than ${Math.floor(outputBytes / MEGABYTE)} MiB`);
        else chunks.push(chunk);
      }),
    );
    stderr?.on(
      'data',
      guarded((chunk: Buffer) => {
        if (words.length < MAX_WORDS_BYTES) words += chunk.toString('utf8', 0, MAX_WORDS_BYTES);
      }),
    );
    child.once(
      'error',
      guarded(error => {
        clearTimeout(timer);
        reject(new EdgeError('EDGE_CELL_START', `Cannot start the bundler: ${error.message}`, { cause: error }));
      }),
    );
    child.once(
      'close',
      guarded((code: number | null) => {
        clearTimeout(timer);
        if (ended !== undefined) reject(ended);
        else if (code === 0) resolve(Buffer.concat(chunks).toString());
        else if (code === null || OUT_OF_MEMORY.test(words))
          reject(new EdgeError('EDGE_BUNDLE_LIMIT', 'Cannot bundle the function: esbuild took too much memory'));
        else reject(new FunctionError(`the bundler has ended with code ${code}: ${printable(words)}`));
      }),
    );
    // The process may end before it has read all: its end says why.
    stdin?.on('error', () => {});
    stdin?.end(JSON.stringify(request));
  });
}

/** The last words of a process that has read a customer's files: no control characters. */
function printable(words: string): string {
  return words
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 500);
}
