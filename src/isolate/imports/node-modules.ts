/**
 * Node's modules, which functions can import with the flag `nodejs_compat`: their names, and the text of the modules that stand for them. Their values are
 * made in the guest realm (src/guest/node).
 */

/** A flag of the load, which the host adds from a compatibility date on. */
export const NODE_FLAG = 'nodejs_compat';
/** The date from which on functions have Node's modules without the flag. */
export const NODE_MODULES_FROM = '2026-08-04';

const SCHEME = 'node:';

/** The names of all modules that some Node from 20 to 26 has, also of those that it has for its own use. */
const NAMES: ReadonlySet<string> = new Set(
  (
    '_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _stream_duplex ' +
    '_stream_passthrough _stream_readable _stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap ' +
    'assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram ' +
    'diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector ' +
    'inspector/promises module net os path path/posix path/win32 perf_hooks process punycode querystring readline ' +
    'readline/promises repl stream stream/consumers stream/promises stream/web string_decoder sys timers ' +
    'timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib'
  ).split(' '),
);
/** They have no bare name, which npm packages have. */
const ONLY_WITH_SCHEME: ReadonlySet<string> = new Set(['sea', 'sqlite', 'test', 'test/reporters']);

/** The name of the module without its scheme; undefined for everything else. */
export function nodeModuleOf(specifier: string): string | undefined {
  if (!specifier.startsWith(SCHEME)) return NAMES.has(specifier) ? specifier : undefined;
  const name = specifier.slice(SCHEME.length);
  return NAMES.has(name) || ONLY_WITH_SCHEME.has(name) ? name : undefined;
}

/** Global names that only functions with Node's modules have, and a method that only their global timers have. */
const GLOBALS = ['Buffer', 'process', 'setImmediate', 'clearImmediate', 'require', 'global', 'unref'];

/**
 * Whether code may use Node's modules without a static import: by `node:` in an import(), or by a global name. A text that only looks so costs the time to
 * evaluate their bundle.
 */
export function mentionsNode(source: Buffer): boolean {
  if (source.includes(SCHEME)) return true;
  const found = GLOBALS.filter(name => source.includes(name));
  return found.length > 0 && new RegExp(`\\b(?:${found.join('|')})\\b`).test(source.toString('latin1'));
}

/** Whether code may import a module by its bare name. Takes longer than {@link mentionsNode}. */
export function mentionsBareName(source: Buffer): boolean {
  BARE_NAME.lastIndex = 0;
  return BARE_NAME.test(source.toString('latin1'));
}

const BARE_NAME = new RegExp(`["'\`](?:${[...NAMES].join('|')})["'\`]`);

/**
 * The text of the module that stands for one of Node's, for the guest realm.
 *
 * @param names of its exports, apart from the default
 * @param loader the module that exports `builtIn(name)` there
 */
export function nodeModuleSource(name: string, names: readonly string[], loader: string): string {
  const taken = names.map((key, at) => `${JSON.stringify(key)}:v${at}`).join();
  const exported = names.map((key, at) => `v${at} as ${key}`).join();
  return (
    `import{builtIn}from${JSON.stringify(loader)};const value=builtIn(${JSON.stringify(SCHEME + name)});` +
    `const{${taken}}=value;export{value as default,${exported}};`
  );
}
