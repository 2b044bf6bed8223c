// Bundles what an application, the command line and the backend process begin with into dist/src/bundle: main.js, cli.js and backend.js, with what they
// share, and what is loaded later, in files beside them. As 600 modules one by one the package costs an application 0.4 s of CPU at its start, and the
// backend process, whose start all of its applications wait for when it was lost, 0.2 s (Node 20.20). One build for the three, so that each class is there
// once in a process.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { licensesOf } from './licenses.mjs';

const OUT = 'dist/src/bundle';

// Every module finds what it starts or reads by its own place, which is not that of the bundle.
const ownPlace = {
  name: 'own-place',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[\\/]src[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const place = JSON.stringify(relative(OUT, path).replaceAll('\\', '/'));
      return {
        contents: text.replaceAll('import.meta.url', `ownPlace(${place})`),
        resolveDir: dirname(path),
        loader: 'js',
      };
    });
  },
};

// See real-timers.mjs.
const REAL_TIMERS = resolve('.scripts/real-timers.mjs');
const realTimers = {
  name: 'real-timers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:timers\/promises$/ }, ({ path, importer }) =>
      importer === REAL_TIMERS ? { path, external: true } : { path, namespace: 'real-timers' },
    );
    onLoad({ filter: /.*/, namespace: 'real-timers' }, () => ({
      contents: `import { timersPromises } from ${JSON.stringify(REAL_TIMERS)};
        export const { setTimeout, setImmediate } = timersPromises;`,
      resolveDir: '.',
    }));
  },
};

rmSync(OUT, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: {
    main: 'dist/src/index.js',
    ai: 'dist/src/ai.js',
    cli: 'dist/src/cli/main.js',
    backend: 'dist/src/pool/backend-main.js',
  },
  outdir: OUT,
  bundle: true,
  splitting: true,
  chunkNames: '[name]-[hash]',
  format: 'esm',
  target: 'node20',
  platform: 'node',
  // LICENSES.txt has all of them.
  legalComments: 'none',
  // Its main file loads its parts in a way that a bundler does not see.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  metafile: true,
  // Not minified: Node prints the line that an error was thrown in.
  keepNames: true,
  logLevel: 'warning',
  // Libraries with native code, optional ones, and those that speak to the network, start threads or have data that ages: applications update them. And
  // saxes, which brings no text of its licence along.
  external: [
    '@opentelemetry/api',
    '@photostructure/sqlite',
    'esbuild',
    'level',
    'memory-level',
    'piscina',
    'rate-limiter-flexible',
    'redis',
    'saxes',
    'tldts',
    'undici',
    'ws',
  ],
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
  inject: [REAL_TIMERS, resolve('.scripts/own-place.mjs')],
  define: { 'process.nextTick': 'nextTick' },
  plugins: [ownPlace, realTimers],
});
// Imports run before the rest of a module. So the check is a module of its own, the first import, and names a missing file before anything fails.
writeFileSync(`${OUT}/index.js`, "import '../package-files.js';\nexport * from './main.js';\n");
writeFileSync(`${OUT}/LICENSES.txt`, licensesOf([metafile], '.'));
