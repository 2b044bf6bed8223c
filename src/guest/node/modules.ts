/** The modules that have code here, by their names without `node:`. The bundler makes of each require() a function that evaluates the file once. */
import { completed } from './unsupported.ts';

declare function require(path: string): { readonly default: unknown };

const MODULES: { readonly [name: string]: () => { readonly default: unknown } } = {
  _http_agent: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  _http_client: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  _http_common: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  _http_incoming: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  _http_outgoing: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  _http_server: () => ({ default: { ...(require('./http/parts.ts').default as object) } }),
  'assert/strict': () => require('./assert/strict.ts'),
  assert: () => require('./assert/assert.ts'),
  async_hooks: () => require('./async-hooks/async-hooks.ts'),
  buffer: () => require('./buffer/buffer.ts'),
  console: () => require('./terminal/console.ts'),
  crypto: () => require('./crypto/crypto.ts'),
  diagnostics_channel: () => require('./diagnostics/diagnostics-channel.ts'),
  'edgehost:node': () => require('./http/platform.ts'),
  events: () => require('./events/events.ts'),
  'fs/promises': () => require('./fs/promises.ts'),
  fs: () => require('./fs/fs.ts'),
  http: () => require('./http/http.ts'),
  https: () => require('./http/https.ts'),
  module: () => require('./module.ts'),
  net: () => require('./net/net.ts'),
  os: () => require('./os.ts'),
  'path/posix': () => require('./path/path.ts'),
  'path/win32': () => require('./path/path-win32.ts'),
  path: () => require('./path/path.ts'),
  perf_hooks: () => require('./diagnostics/perf-hooks.ts'),
  process: () => require('./process/process.ts'),
  punycode: () => require('./url/punycode.ts'),
  querystring: () => require('./url/querystring.ts'),
  'readline/promises': () => require('./readline/promises.ts'),
  readline: () => require('./readline/readline.ts'),
  'stream/consumers': () => require('./stream/consumers.ts'),
  'stream/promises': () => require('./stream/promises.ts'),
  'stream/web': () => require('./stream/web.ts'),
  stream: () => require('./stream/stream.ts'),
  string_decoder: () => require('./stream/string-decoder.ts'),
  sys: () => require('./util/util.ts'),
  'timers/promises': () => require('./timers/promises.ts'),
  timers: () => require('./timers/timers.ts'),
  tls: () => require('./net/tls.ts'),
  tty: () => require('./terminal/tty.ts'),
  url: () => require('./url/url.ts'),
  'util/types': () => require('./util/types.ts'),
  util: () => require('./util/util.ts'),
  zlib: () => require('./zlib/zlib.ts'),
};

const ready = new Map<string, unknown>();

/** Answers what `require()` of a module answers. */
export function requireNode(name: string): unknown {
  if (ready.has(name)) return ready.get(name);
  const value = completed(name, MODULES[name]?.().default ?? {});
  ready.set(name, value);
  return value;
}
