// Writes src/guest/node/shapes.json: the names that Node's modules export, and what each is. Run with the newest Node 20, whose table is the base; names of later
// lines are in LATER.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';
import { nodeModuleNames } from './node-module-names.mjs';

const require = createRequire(import.meta.url);

/** Names that Node 22 to 26 have and Node 20 has not: functions, and classes where the name begins with a capital letter. */
const LATER = {
  assert: 'Assert partialDeepStrictEqual',
  'assert/strict': 'Assert partialDeepStrictEqual',
  buffer: 'File',
  crypto: 'argon2 argon2Sync decapsulate encapsulate hash',
  dns: 'resolveTlsa',
  'dns/promises': 'resolveTlsa',
  fs: 'glob globSync mkdtempDisposableSync openAsBlob Utf8Stream',
  'fs/promises': 'glob mkdtempDisposable',
  http: 'CloseEvent MessageEvent WebSocket setGlobalProxyFromEnv',
  http2: 'performServerHandshake',
  module:
    'constants enableCompileCache findPackageJSON flushCompileCache getCompileCacheDir getSourceMapsSupport ' +
    'registerHooks setSourceMapsSupport stripTypeScriptTypes',
  net: 'BlockList getDefaultAutoSelectFamily setDefaultAutoSelectFamily',
  path: 'matchesGlob',
  'path/posix': 'matchesGlob',
  'path/win32': 'matchesGlob',
  perf_hooks: 'eventLoopUtilization timerify',
  process:
    'addUncaughtExceptionCaptureCallback availableMemory constrainedMemory execve features finalization ' +
    'getBuiltinModule loadEnvFile ref threadCpuUsage unref',
  stream: 'duplexPair isDestroyed isWritable',
  timers: 'promises',
  tls: 'getCACertificates setDefaultCACertificates',
  url: 'URLPattern fileURLToPathBuffer',
  util: 'convertProcessSignalToExitCode diff getCallSite getCallSites setTraceSigInt styleText transferableAbortController',
  v8: 'GCProfiler isStringOneByteRepresentation queryObjects startCpuProfile startHeapProfile',
  vm: 'Module SourceTextModule SyntheticModule',
  worker_threads:
    'getEnvironmentData isInternalThread isMarkedAsUncloneable locks markAsUncloneable postMessageToThread',
  zlib:
    'ZstdCompress ZstdDecompress crc32 createZstdCompress createZstdDecompress zstdCompress zstdCompressSync ' +
    'zstdDecompress zstdDecompressSync',
};

/** Modules that Node 20 has not. */
const LATER_MODULES = {
  sqlite: 'DatabaseSync Session StatementSync SQLTagStore backup',
  sea: 'getAsset getAssetAsBlob getAssetKeys getRawAsset isSea',
  'inspector/promises': 'Session close console open url waitForDebugger',
};

/** Longer values, in JSON, such as the root certificates of TLS, are left out. */
const MAX_VALUE = 20_000;
/** The values of these modules describe the machine that the table was made on. They are left out. */
const NO_VALUES = new Set(['process', 'module', 'os']);

/** Of the process: which members they have depends on what they are connected to. */
const STREAMS = new Set(['stdin', 'stdout', 'stderr']);

function shapeOf(module, name) {
  const functions = [];
  const classes = [];
  const values = {};
  const groups = {};
  const symbols = {};
  for (const key of Object.getOwnPropertyNames(module)) {
    if (typeof module === 'function' && ['length', 'name', 'prototype', 'arguments', 'caller'].includes(key)) continue;
    if (key.startsWith('_') && name === 'process') continue;
    const value = module[key];
    if (typeof value === 'symbol') symbols[key] = [value.description, Symbol.keyFor(value) !== undefined];
    else if (typeof value === 'function') (isClass(key, value) ? classes : functions).push(key);
    else if (isPlainData(value)) {
      if (JSON.stringify(value)?.length > MAX_VALUE) continue;
      if (!NO_VALUES.has(name)) values[key] = value;
      else functions.push(key);
    } else if (typeof value === 'object' && value !== null) groups[key] = STREAMS.has(key) ? [] : membersOf(value);
  }
  return { functions, classes, values, groups, symbols };
}

function membersOf(value) {
  return Object.keys(value).filter(key => typeof value[key] === 'function');
}

/** Constants and tables of constants. */
function isPlainData(value) {
  if (value === null || ['number', 'string', 'boolean'].includes(typeof value)) return true;
  if (Array.isArray(value)) return value.every(item => typeof item === 'string' || typeof item === 'number');
  if (typeof value !== 'object' || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return false;
  return Object.values(value).every(item => item === undefined || isPlainData(item));
}

function isClass(key, value) {
  return /^[A-Z]/.test(key) && value.prototype !== undefined;
}

const shapes = {};
for (const name of nodeModuleNames()) {
  const later = LATER_MODULES[name] ?? LATER[name] ?? '';
  let module = {};
  try {
    module = require(`node:${name}`);
  } catch (error) {
    if (LATER_MODULES[name] === undefined) throw error;
  }
  const shape = shapeOf(module, name);
  for (const key of later.split(' ').filter(Boolean)) {
    const isKnown =
      shape.functions.includes(key) ||
      shape.classes.includes(key) ||
      key in shape.values ||
      key in shape.groups ||
      key in shape.symbols;
    if (!isKnown) (/^[A-Z]/.test(key) ? shape.classes : shape.functions).push(key);
  }
  shape.functions.sort();
  shape.classes.sort();
  shapes[name] = JSON.stringify(shape);
}
writeFileSync('src/guest/node/shapes.json', `${JSON.stringify(shapes, null, 2)}\n`);
process.stdout.write(`${Object.keys(shapes).length} modules\n`);
