/**
 * The package imports this before all else: it looks whether the files lie beside it from which processes and threads are started. A bundler that packs
 * the application into one file leaves them behind, and what failed then, later and elsewhere, would name an inner part that nobody knows.
 *
 * Each file stands as `new URL('./file', import.meta.url)`, the form that tracers of files follow (@vercel/nft, Next, Nitro).
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

let files: readonly URL[] = [];
try {
  files = [
    new URL(/* webpackIgnore: true */ './bundle/backend.js', import.meta.url),
    new URL(/* webpackIgnore: true */ './host/deploy/bundle/process/bundle-main.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './isolate/guest-node.bundle.js', import.meta.url),
    new URL(/* webpackIgnore: true */ './isolate/guest.bundle.js', import.meta.url),
    new URL(/* webpackIgnore: true */ './isolate/parser.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './isolate/typescript.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './isolate/worker.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './native/edgehost-confine-linux-arm64', import.meta.url),
    new URL(/* webpackIgnore: true */ './native/edgehost-confine-linux-x64', import.meta.url),
    new URL(/* webpackIgnore: true */ './pool/cell/cell-main.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './pool/launcher/launch-main.bundle.cjs', import.meta.url),
    new URL(/* webpackIgnore: true */ './sqlite/engine/main.js', import.meta.url),
    new URL(/* webpackIgnore: true */ './sqlite/engine/probe.js', import.meta.url),
    new URL(/* webpackIgnore: true */ './sqlite/engine/watch.js', import.meta.url),
    new URL(/* webpackIgnore: true */ '../../package.json', import.meta.url),
  ];
} catch {
  // In a CommonJS file that a bundler has made of this one, import.meta.url is undefined.
}

/**
 * The file that this code was loaded from. It is another one than import.meta.url says when a bundler has moved the code, and has put in place of
 * import.meta.url where it was before: on the machine that built the application all files are found there, on others none.
 */
function loadedFrom(): string | undefined {
  const { prepareStackTrace } = Error;
  try {
    Error.prepareStackTrace = (_, [first]) => first?.getFileName();
    const error: { readonly stack?: unknown } = new Error();
    return typeof error.stack === 'string' ? error.stack : undefined;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
}

const found = loadedFrom();
const isHere = (place: string): boolean => place === import.meta.url || place === fileURLToPath(import.meta.url);
const isMoved = files.length === 0 || (found !== undefined && !isHere(found));
const missing = files.find(url => !existsSync(url));
if (isMoved || missing !== undefined) {
  const what = isMoved
    ? 'edgehost was packed into a bundle, which has none of the files that it starts processes from'
    : `edgehost was imported without the file ${fileURLToPath(missing ?? '')}, which it starts processes from`;
  const remedy =
    "Keep the package outside of the bundle, and install it beside the application: external: ['edgehost'] for esbuild, externals: { edgehost: 'module edgehost' } for webpack, withEdgeHost() of edgehost/next for Next, externals: { external: ['edgehost'] } for Nitro, ssr: { external: ['edgehost'] } for Vite";
  throw Object.assign(new Error(`${what}. ${remedy}.`), { name: 'EdgeError', code: 'EDGE_PACKAGE_FILES' });
}
