// Bundles the guest realm's code into one script, dist/src/isolate/guest.bundle.js, whose completion value is `install`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';

// The streams library looks for the classes it works with by their global names: it gets ours, whatever the global object holds.
const streamsGlobals = {
  name: 'streams-globals',
  setup({ onLoad }) {
    onLoad({ filter: /web-streams-polyfill[\\/]dist[\\/]ponyfill\.mjs$/ }, ({ path }) => {
      const realm = JSON.stringify(resolve('src/isolate/guest/web/streams-realm.ts'));
      const names = 'AbortController, globalThis, queueMicrotask, structuredClone';
      return { contents: `import { ${names} } from ${realm};\n${readFileSync(path, 'utf8')}`, loader: 'js' };
    });
  },
};

// The pattern library becomes a module that is evaluated when it is first needed, with our URL and whatever the language has.
const lazyPatterns = {
  name: 'lazy-patterns',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^urlpattern-polyfill\/urlpattern$/ }, () => ({
      path: resolve('node_modules/urlpattern-polyfill/dist/urlpattern.cjs'),
    }));
    onLoad({ filter: /urlpattern-polyfill[\\/]dist[\\/]urlpattern\.cjs$/ }, ({ path }) => {
      const url = JSON.stringify(resolve('src/isolate/guest/web/url.ts'));
      return { contents: `const { URL } = require(${url});\n${readFileSync(path, 'utf8')}`, loader: 'js' };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: ['src/isolate/guest/main.ts'],
  bundle: true,
  write: false,
  format: 'iife',
  globalName: 'guest',
  target: 'es2023',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  legalComments: 'none',
  charset: 'utf8',
  minifySyntax: true,
  logLevel: 'warning',
  plugins: [streamsGlobals, lazyPatterns],
});
mkdirSync('dist/src/isolate', { recursive: true });
// A function's own scope, so that the bundle makes no global variable.
writeFileSync(
  'dist/src/isolate/guest.bundle.js',
  `(function () {\n${outputFiles[0].text}\nreturn guest.install;\n})();\n`,
);
