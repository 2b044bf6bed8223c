// Bundles the guest realm's code into one script, dist/src/isolate/guest.bundle.js, whose completion value is `install`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

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
});
mkdirSync('dist/src/isolate', { recursive: true });
// A function's own scope, so that the bundle makes no global variable.
writeFileSync(
  'dist/src/isolate/guest.bundle.js',
  `(function () {\n${outputFiles[0].text}\nreturn guest.install;\n})();\n`,
);
