// Bundles the code of the guest realm into one script whose completion value is `install`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { sharedSource } from './node-bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

// The streams library looks for the classes it works with by their global names: it gets ours, whatever the global object holds.
const streamsGlobals = {
  name: 'streams-globals',
  setup({ onLoad }) {
    onLoad({ filter: /web-streams-polyfill[\\/]dist[\\/]ponyfill\.mjs$/ }, ({ path }) => {
      const realm = JSON.stringify(join(root, 'src/guest/web/streams/streams-realm.ts'));
      const names = 'AbortController, afterMicrotask, globalThis, queueMicrotask, structuredClone';
      const text = fixed('web-streams-polyfill', STREAM_FIXES, readFileSync(path, 'utf8'));
      return { contents: `import { ${names} } from ${realm};\n${text}`, loader: 'js' };
    });
  },
};

/** Where the libraries stay behind their standards: [what it has, what it should have]. A new version must be looked at. */
const STREAM_FIXES = [
  // A pipe whose read waits gets its chunk within `enqueue()`, which must not call `write()` of the other end.
  [
    /_chunkSteps\((\w+)\)\{this\._state\._currentWrite=(\w+)\((\w+)\(this\._state\._writer,\1\),void 0,(\w+)\),this\._resolvePromise\(!1\)\}/,
    '_chunkSteps($1){this._state._currentWrite=$2(afterMicrotask(()=>(this._resolvePromise(!1),$3(this._state._writer,$1))),void 0,$4)}',
  ],
];
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

function fixed(library, fixes, source) {
  return fixes.reduce((text, [found, replacement]) => {
    if (!found.test(text)) throw new Error(`${library} has changed: ${found} is not in it`);
    return text.replace(found, replacement);
  }, source);
}

// The pattern library becomes a module that is evaluated when it is first needed, with our URL and whatever the language has.
const lazyPatterns = {
  name: 'lazy-patterns',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^urlpattern-polyfill\/urlpattern$/ }, () => ({
      path: join(root, 'node_modules/urlpattern-polyfill/dist/urlpattern.cjs'),
    }));
    onLoad({ filter: /urlpattern-polyfill[\\/]dist[\\/]urlpattern\.cjs$/ }, ({ path }) => {
      const url = JSON.stringify(join(root, 'src/guest/web/url/url.ts'));
      const text = fixed('urlpattern-polyfill', PATTERN_FIXES, readFileSync(path, 'utf8'));
      return { contents: `const { URL } = require(${url});\n${text}`, loader: 'js' };
    });
  },
};

// What the bundle of Node's modules uses of this one.
const sharedWithNode = {
  name: 'shared-with-node',
  setup({ onLoad }) {
    onLoad({ filter: /src[\\/]guest[\\/]modules[\\/]node-shared\.ts$/ }, () => ({
      contents: sharedSource(),
      resolveDir: join(root, 'src/guest'),
      loader: 'ts',
    }));
  },
};

/** The list of bindings is another file's, which may take the rows of the package's own along. */
const otherBindings = path => ({
  name: 'other-bindings',
  setup({ onResolve }) {
    const user = join(root, 'src/guest/env/binding-platform.ts');
    onResolve({ filter: /^\.\.\/bindings\.ts$/ }, ({ importer }) => (importer === user ? { path } : undefined));
  },
});

/**
 * The text of the bundle, of ASCII alone.
 *
 * @param {{ bindings?: string, onMetafile?: (metafile: import('esbuild').Metafile) => void }} options `bindings`: a file that stands in for
 *   src/guest/bindings.ts, for tests of bindings that the package does not have
 * @returns {Promise<string>}
 */
export async function guestBundle({ bindings, onMetafile } = {}) {
  const entry = { entryPoints: ['src/guest/main.ts'] };
  const text = await bundle(entry, bindings === undefined ? [] : [otherBindings(bindings)], onMetafile);
  // A function's own scope, so that the bundle makes no global variable.
  return `(function () {\n${text}\nreturn guest.install;\n})();\n`;
}

/**
 * The text of a script whose completion value has what some modules of the guest realm export, for tests of these modules alone.
 *
 * @param {readonly string[]} modules names in src/guest, such as 'calls' or 'web/fetch/body'
 * @returns {Promise<string>} the value has a property for each module, under its name
 */
export async function guestModules(modules) {
  // In the order of main.ts: hardening comes first, then the errors, which the rest captures.
  const names = [...new Set(modules)].map((name, at) => [`m${at}`, name]);
  const contents = [
    "import './src/guest/harden.ts';",
    "import './src/guest/errors.ts';",
    ...names.map(([variable, name]) => `import * as ${variable} from './src/guest/${name}.ts';`),
    `export const modules = { ${names.map(([variable, name]) => `'${name}': ${variable}`).join(', ')} };`,
  ].join('\n');
  const text = await bundle({ stdin: { contents, resolveDir: root, loader: 'ts' } }, []);
  return `(function () {\n${text}\nreturn guest.modules;\n})();\n`;
}

async function bundle(entry, plugins, onMetafile) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    ...entry,
    bundle: true,
    write: false,
    metafile: true,
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
    plugins: [streamsGlobals, lazyPatterns, sharedWithNode, ...plugins],
  });
  onMetafile?.(metafile);
  return outputFiles[0].text;
}
