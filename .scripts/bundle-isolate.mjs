// Bundles what runs in an isolate's thread: the guest realm's code into one script, dist/src/isolate/guest.bundle.js, whose completion value
// is `install`, and the host realm's into worker.bundle.cjs.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';

// The streams library looks for the classes it works with by their global names: it gets ours, whatever the global object holds.
const streamsGlobals = {
  name: 'streams-globals',
  setup({ onLoad }) {
    onLoad({ filter: /web-streams-polyfill[\\/]dist[\\/]ponyfill\.mjs$/ }, ({ path }) => {
      const realm = JSON.stringify(resolve('src/isolate/guest/web/streams/streams-realm.ts'));
      const names = 'AbortController, globalThis, queueMicrotask, structuredClone';
      return { contents: `import { ${names} } from ${realm};\n${readFileSync(path, 'utf8')}`, loader: 'js' };
    });
  },
};

/** Where the library stays behind the standard: [what it has, what it should have]. A new version must be looked at. */
const PATTERN_FIXES = [
  // A name may have characters outside of the basic plane.
  [
    /let i=e\.substr\(s,1\);(if\([^{}]*\)\{)f\+=e\[s\+\+\];/,
    'let i=String.fromCodePoint(e.codePointAt(s));$1f+=i,s+=i.length;',
  ],
  // Regular expressions have set notation.
  [/(function \w+\(e\)\{return e&&e\.ignoreCase\?)"ui":"u"/, '$1"vi":"v"'],
  // The engine of Node 20 takes "[^]" for the empty set then.
  [/new RegExp\(n,(\w+)\(r\)\)/g, 'new RegExp(n.replaceAll("[^]","[\\\\s\\\\S]"),$1(r))'],
  // @see https://urlpattern.spec.whatwg.org/#canonicalize-a-hostname
  [
    /if\(\/\[\\t\\n\\r #%\/:<>\?@\[\\\]\^\\\\\|\]\/g\.test\(e\)\)(throw new TypeError\(`Invalid hostname '\$\{e\}'`\);)let t=new URL\("https:\/\/example\.com"\);return t\.hostname=e,t\.hostname/,
    'let t=new URL("https://dummy.invalid");t.hostname=e;if(t.hostname==="dummy.invalid"&&e!=="dummy.invalid")$1return t.hostname',
  ],
  // @see https://urlpattern.spec.whatwg.org/#canonicalize-a-port
  [
    /if\(e===""\|\|\/\^\[0-9\]\*\$\/\.test\(e\)&&parseInt\(e\)<=65535\)return e;/,
    'if(e==="")return e;let d=parseInt(e.replace(/[\\t\\n\\r]/g,""),10);if(/^[\\t\\n\\r]*[0-9]/.test(e)&&d<=65535)return String(d);',
  ],
];

function fixPatterns(source) {
  return PATTERN_FIXES.reduce((text, [found, replacement]) => {
    if (!found.test(text)) throw new Error(`urlpattern-polyfill has changed: ${found} is not in it`);
    return text.replace(found, replacement);
  }, source);
}

// The pattern library becomes a module that is evaluated when it is first needed, with our URL and whatever the language has.
const lazyPatterns = {
  name: 'lazy-patterns',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^urlpattern-polyfill\/urlpattern$/ }, () => ({
      path: resolve('node_modules/urlpattern-polyfill/dist/urlpattern.cjs'),
    }));
    onLoad({ filter: /urlpattern-polyfill[\\/]dist[\\/]urlpattern\.cjs$/ }, ({ path }) => {
      const url = JSON.stringify(resolve('src/isolate/guest/web/url/url.ts'));
      return { contents: `const { URL } = require(${url});\n${fixPatterns(readFileSync(path, 'utf8'))}`, loader: 'js' };
    });
  },
};

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
  // ASCII and short: each isolate keeps the text, and V8 keeps text of other characters at twice its size.
  charset: 'ascii',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
  plugins: [streamsGlobals, lazyPatterns],
});
mkdirSync('dist/src/isolate', { recursive: true });
// A function's own scope, so that the bundle makes no global variable.
writeFileSync(
  'dist/src/isolate/guest.bundle.js',
  `(function () {\n${outputFiles[0].text}\nreturn guest.install;\n})();\n`,
);

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

// tsc leaves declarations that are written by hand where they are.
copyFileSync('src/worker.d.ts', 'dist/src/worker.d.ts');
