/** The program of a bundler process: one request on standard input, one bundle on standard output. */
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { globMatcher } from '../../glob.js';
import { Bundler } from '../bundler.js';
import type { Esbuild } from '../esbuild.js';
import { FunctionError } from '../function-error.js';
import { type BundleReply, type BundleRequest, replyOf } from './messages.js';

async function replyTo({
  esbuild,
  program,
  root,
  main,
  rules,
  bundling,
  packageFolders,
}: BundleRequest): Promise<BundleReply> {
  // As esbuild's package reads it when it is loaded.
  if (program !== undefined) process.env.ESBUILD_BINARY_PATH = program;
  const loaded: { readonly default: typeof Esbuild } = await import(pathToFileURL(esbuild).href);
  const matchers = rules.map(({ kind, glob }) => ({ kind, glob, matches: globMatcher(glob) }));
  const files = { root, main, rules: matchers, packageFolders, ...(bundling !== undefined && { bundling }) };
  const bundler = new Bundler(loaded.default, files, 'production', rules.length > 0);
  try {
    return replyOf(await bundler.bundle(matchers));
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    const { message, location } = error;
    return { failure: message, ...(location !== undefined && { location }) };
  } finally {
    await bundler.dispose();
  }
}

async function run(): Promise<void> {
  // The host's own words, which it has checked.
  const request: BundleRequest = JSON.parse(await text(process.stdin));
  process.stdout.write(JSON.stringify(await replyTo(request)));
}

void run().catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
