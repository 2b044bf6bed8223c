// Bundles the guest realm's code into one script: dist/src/isolate/guest.bundle.js, whose completion value is the guest's entry.
import { build } from 'esbuild';

await build({
  entryPoints: ['src/isolate/guest/main.ts'],
  outfile: 'dist/src/isolate/guest.bundle.js',
  bundle: true,
  format: 'iife',
  globalName: 'edgehostGuest',
  target: 'es2023',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  legalComments: 'none',
  charset: 'utf8',
  minifySyntax: true,
  logLevel: 'warning',
});
