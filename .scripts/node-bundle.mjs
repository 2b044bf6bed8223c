// Bundles Node's modules for the guest realm (src/guest/node) into one script. Its completion value is a function of a setup (NodeSetup in
// src/guest/modules/node-modules.ts) that evaluates the bundle and answers what finds a module by its name.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const guest = join(root, 'src/guest');
const node = join(guest, 'node');
const IMPORT = /^import (type )?(?:\{([^}]*)\}|[^'{]+) from '(\.[^']+)';$/gm;

/** The files of the guest's main bundle that its code imports, by path in src/guest, each with the names. */
export function sharedNames() {
  const shared = new Map();
  for (const entry of readdirSync(node, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    for (const [, isType, names, specifier] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const key = sharedKey(resolve(dirname(file), specifier));
      if (isType !== undefined || key === undefined) continue;
      if (names === undefined) throw new Error(`${file}: ${specifier} has to be imported by names`);
      const all = shared.get(key) ?? new Set();
      for (const name of names.split(',').map(text => text.trim())) {
        if (name !== '' && !name.startsWith('type ')) all.add(name.split(' as ')[0]);
      }
      shared.set(key, all);
    }
  }
  return shared;
}

/** The path in src/guest of a file of the main bundle; undefined for every other file. */
function sharedKey(path) {
  const key = relative(guest, path).replaceAll('\\', '/');
  return key.startsWith('..') || key.startsWith('node/') ? undefined : key;
}

/** The text of src/guest/modules/node-shared.ts. */
export function sharedSource() {
  const entries = [...sharedNames()].sort().map(([key, names], at) => {
    const list = [...names].sort();
    return {
      import: `import { ${list.map(name => `${name} as ${name}_${at}`).join(', ')} } from './${key}';`,
      value: `'${key}': { __proto__: null, ${list.map(name => `${name}: ${name}_${at}`).join(', ')} }`,
    };
  });
  const imports = entries.map(entry => entry.import).join('\n');
  const values = entries.map(entry => entry.value).join(', ');
  return `${imports}\nexport const sharedWithNode = () => ({ __proto__: null, ${values} });`;
}

const shared = {
  name: 'shared',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      if (!resolveDir.startsWith(node)) return undefined;
      const key = sharedKey(resolve(resolveDir, path));
      return key === undefined ? undefined : { path: key, namespace: 'shared' };
    });
    onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => {
      const names = [...(sharedNames().get(path) ?? [])];
      const lines = names.map(name => `export const ${name} = of.${name};`);
      return { contents: `const of = $edgehost["${path}"];${lines.join('')}`, loader: 'js' };
    });
  },
};

/** Modules of Node that libraries import, by their files in src/guest/node. */
const OWN = {
  'abort-controller': 'library/abort-controller.ts',
  buffer: 'buffer/buffer.ts',
  'buffer/': 'buffer/buffer.ts',
  events: 'events/events.ts',
  process: 'library/process.ts',
  'process/': 'library/process.ts',
  'process/browser': 'library/process.ts',
  punycode: 'url/punycode.ts',
  'punycode/': 'url/punycode.ts',
  qs: 'url/qs.ts',
  'safe-buffer': 'buffer/buffer.ts',
  stream: 'stream/stream.ts',
  string_decoder: 'stream/string-decoder.ts',

  url: 'url/url.ts',
  util: 'util/util.ts',
  'util/': 'util/util.ts',
};

/** Libraries get our modules, as `require()` does. */
const ownModules = {
  name: 'own-modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z_-]+\/?(?:browser)?$/ }, ({ path, importer }) => {
      if (!importer.includes('node_modules')) return undefined;
      return Object.hasOwn(OWN, path) ? { path: OWN[path], namespace: 'own' } : undefined;
    });
    onLoad({ filter: /.*/, namespace: 'own' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(join(node, path))}).default;`,
      resolveDir: root,
      loader: 'js',
    }));
  },
};

/** Where libraries presume what the guest realm has not: [what they have, what they should have]. A new version must be looked at. */
const FIXES = {
  // The realm has neither Atomics nor FinalizationRegistry, see src/guest/harden.ts.
  'node-inspect-extracted/dist/inspect.js': [
    ['["Atomics","JSON",', '["JSON",'],
    ['e.SafeFinalizationRegistry=k(b,class extends b{}),', ''],
  ],
};

const fixes = {
  name: 'fixes',
  setup({ onLoad }) {
    for (const [file, replacements] of Object.entries(FIXES)) {
      const filter = new RegExp(`node_modules/${file.replaceAll('.', '\\.')}$`);
      onLoad({ filter }, ({ path }) => {
        let contents = readFileSync(path, 'utf8');
        for (const [found, replacement] of replacements) {
          if (!contents.includes(found)) throw new Error(`${file} has changed: ${found} is not in it`);
          contents = contents.replace(found, replacement);
        }
        return { contents, loader: 'js' };
      });
    }
  },
};

/**
 * The text of the bundle, of ASCII alone. Its first line is a comment: JSON with the names of each module's exports, joined by commas.
 *
 * @param {{ onMetafile?: (metafile: import('esbuild').Metafile) => void }} options
 * @returns {Promise<string>}
 */
export async function nodeBundle({ onMetafile } = {}) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/guest/node/main.ts'],
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    globalName: 'guest',
    target: 'es2023',
    platform: 'neutral',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['browser'],
    define: { global: 'globalThis', 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    charset: 'ascii',
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'warning',
    plugins: [shared, ownModules, fixes],
  });
  onMetafile?.(metafile);
  const names = JSON.stringify(exportNames());
  return `//${names}\n(function ($setup) { 'use strict'; const $edgehost = $setup.shared;\n${outputFiles[0].text}\nreturn guest.install($setup);\n})\n`;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** By module, the names that can be imported from it. */
function exportNames() {
  const shapes = JSON.parse(readFileSync(join(node, 'shapes.json'), 'utf8'));
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const { functions, classes, values, groups, symbols } = JSON.parse(shape);
      const all = new Set([
        ...functions,
        ...classes,
        ...Object.keys(values),
        ...Object.keys(groups),
        ...Object.keys(symbols),
      ]);
      all.delete('default');
      return [
        name,
        [...all]
          .filter(key => IDENTIFIER.test(key))
          .sort()
          .join(','),
      ];
    }),
  );
}
