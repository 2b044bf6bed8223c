// Bundles what runs in an isolate's thread: the guest realm's code into one script, dist/src/isolate/guest.bundle.js, and the host realm's into
// worker.bundle.cjs.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { guestBundle } from './guest-bundle.mjs';

// The bundles of the host realm are CommonJS and have a require of their own: node:module would load Node's loader of ES modules.
const ownRequire = {
  name: 'own-require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:module$/ }, ({ path }) => ({ path, namespace: 'own-require' }));
    onLoad({ filter: /^node:module$/, namespace: 'own-require' }, () => ({
      contents: 'export const createRequire = () => __require;',
    }));
  },
};

mkdirSync('dist/src/isolate', { recursive: true });
writeFileSync('dist/src/isolate/guest.bundle.js', await guestBundle());

// One small file for the host realm of an isolate, which Piscina loads: as modules one by one it costs each thread 3 MB more (measured on
// Node 20.20). CommonJS, since Node then loads neither its loader of ES modules nor what built-in modules export lazily: another 1.5 MB;
// and Node 20 aborts the whole process when a thread is ended while it is inside require() of an ES module. The parser is apart from it,
// for the few scripts that need one.
for (const name of ['worker', 'parser']) {
  await build({
    entryPoints: [`dist/src/isolate/${name}.js`],
    outfile: `dist/src/isolate/${name}.bundle.cjs`,
    bundle: true,
    format: 'cjs',
    target: 'node20',
    platform: 'node',
    banner: {
      js: '"use strict";const __require=require,__bundleUrl=require("node:url").pathToFileURL(__filename).href;',
    },
    define: { 'import.meta.url': '__bundleUrl' },
    legalComments: 'none',
    minify: true,
    logLevel: 'warning',
    plugins: [ownRequire],
  });
}

// tsc leaves what is written by hand where it is.
for (const name of ['worker.d.ts', 'index.cjs', 'index.d.cts']) copyFileSync(`src/${name}`, `dist/src/${name}`);
