// Bundles what runs in a cell: the guest realm's code into one script, dist/src/isolate/guest.bundle.js, the host realm's of an isolate's thread
// into worker.bundle.cjs, the main thread's into dist/src/pool/cell/cell-main.bundle.cjs, and the program that starts cells into launch-main.bundle.cjs.
// The program that bundles functions is one file, too, since its sandbox has no others of ours.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { guestBundle } from './guest-bundle.mjs';
import { licensesOf } from './licenses.mjs';
import { nodeBundle } from './node-bundle.mjs';
import { standardTypes } from './web-types.mjs';

// The bundles of the host realm are CommonJS and have a require of their own: node:module would load Node's loader of ES modules.
const ownRequire = {
  name: 'own-require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:module$/ }, ({ path }) => ({ path, namespace: 'own-require' }));
    onLoad({ filter: /^node:module$/, namespace: 'own-require' }, () => ({
      contents:
        'export const createRequire = () => __require; export const isBuiltin = name => __require("node:module").isBuiltin(name);',
    }));
  },
};

// In a cell Piscina is part of our own files, its thread's side too.
const OWN_THREAD = ["(__dirname, 'worker.js')", "(__dirname, '../../isolate/worker.bundle.cjs')"];
const ownThread = {
  name: 'own-thread',
  setup({ onLoad }) {
    onLoad({ filter: /piscina[\\/]dist[\\/]index\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes(OWN_THREAD[0])) throw new Error(`piscina has changed: ${OWN_THREAD[0]} is not in it`);
      return { contents: text.replace(...OWN_THREAD), loader: 'js' };
    });
  },
};

/** What a thread of a cell begins with. In the application's process Piscina has its own first file, which requires this one. */
const THREAD = `export { default } from './worker.js';
if (__require.main === module) require(${JSON.stringify(join(process.cwd(), 'node_modules/piscina/dist/worker.js'))});`;

const metafiles = [];

const bundle = async (input, outfile) => {
  const { metafile } = await build({
    ...input,
    outfile,
    bundle: true,
    format: 'cjs',
    target: 'node20',
    platform: 'node',
    banner: {
      js: '"use strict";const __require=require,__bundleUrl=require("node:url").pathToFileURL(__filename).href;',
    },
    define: { 'import.meta.url': '__bundleUrl' },
    // LICENSES.txt has all of them.
    legalComments: 'none',
    metafile: true,
    minify: true,
    logLevel: 'warning',
    // An optional library of Piscina's with native code, which cells may not load.
    external: ['@napi-rs/nice'],
    plugins: [ownRequire, ownThread],
  });
  metafiles.push(metafile);
};

mkdirSync('dist/src/isolate', { recursive: true });
writeFileSync(
  'dist/src/isolate/guest.bundle.js',
  await guestBundle({ onMetafile: metafile => metafiles.push(metafile) }),
);

writeFileSync(
  'dist/src/isolate/guest-node.bundle.js',
  await nodeBundle({ onMetafile: metafile => metafiles.push(metafile) }),
);

// One small file for the host realm of an isolate: as modules one by one it costs each thread 3 MB more (measured on
// Node 20.20). CommonJS, since Node then loads neither its loader of ES modules nor what built-in modules export lazily: another 1.5 MB;
// and Node 20 aborts the whole process when a thread is ended while it is inside require() of an ES module. The parsers are apart from it,
// for the few scripts that need one. One file for the main thread of a cell too, which is up sooner so.
await bundle({ stdin: { contents: THREAD, resolveDir: 'dist/src/isolate' } }, 'dist/src/isolate/worker.bundle.cjs');
await bundle({ entryPoints: ['dist/src/isolate/parser.js'] }, 'dist/src/isolate/parser.bundle.cjs');
await bundle({ entryPoints: ['dist/src/isolate/source/strip-types.js'] }, 'dist/src/isolate/typescript.bundle.cjs');
await bundle({ entryPoints: ['dist/src/pool/cell/cell-main.js'] }, 'dist/src/pool/cell/cell-main.bundle.cjs');
await bundle(
  { entryPoints: ['dist/src/pool/launcher/launch-main.js'] },
  'dist/src/pool/launcher/launch-main.bundle.cjs',
);
await bundle(
  { entryPoints: ['dist/src/host/deploy/bundle/process/bundle-main.js'] },
  'dist/src/host/deploy/bundle/process/bundle-main.bundle.cjs',
);
writeFileSync('dist/src/isolate/LICENSES.txt', licensesOf(metafiles, '.', ['node_modules/typescript']));

// tsc leaves what is written by hand where it is.
for (const name of ['worker.d.ts', 'index.cjs', 'index.d.cts']) copyFileSync(`src/${name}`, `dist/src/${name}`);
cpSync('src/worker', 'dist/src/worker', { recursive: true });
writeFileSync('dist/src/worker/standard.d.ts', await standardTypes());
