// The declarations of the standard web types, out of TypeScript's own library for workers: the classes that functions have, without the
// members that they lack, and all types that those name. src/worker declares by hand what differs: a variable or an alias there takes the
// place of the library's, and an interface there adds to it.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CLASSES =
  `AbortController AbortSignal Blob ByteLengthQueuingStrategy CloseEvent CompressionStream CountQueuingStrategy Crypto
  CryptoKey CustomEvent DOMException DecompressionStream ErrorEvent Event EventSource EventTarget File FormData Headers MessageChannel MessageEvent
  MessagePort Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver
  PerformanceObserverEntryList PromiseRejectionEvent ReadableByteStreamController
  ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request
  Response SubtleCrypto TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL
  URLPattern URLSearchParams WebSocket WritableStream WritableStreamDefaultController WritableStreamDefaultWriter`.split(
    /\s+/,
  );

/** Members that functions do not have, or that src/worker declares otherwise. */
const OMITTED = {
  Crypto: 'getRandomValues',
  Performance:
    'addEventListener clearResourceTimings onresourcetimingbufferfull removeEventListener setResourceTimingBufferSize',
  Request: 'destination',
  SubtleCrypto: 'generateKey',
  URL: 'createObjectURL revokeObjectURL',
  WebSocket: 'binaryType bufferedAmount close onerror send url',
  WebSocketEventMap: 'error',
};

/** The library gives each class a constructor without parameters; all others throw. */
const MADE_WITHOUT_ARGUMENTS =
  'AbortController EventTarget FormData MessageChannel TextEncoder TextEncoderStream'.split(' ');

const HEADER =
  '/** Standard web types. Made from lib.webworker.d.ts of TypeScript, see isolate/LICENSES.txt: copyright (c) Microsoft Corporation, Apache License 2.0. */\n';

/** The text of dist/src/worker/standard.d.ts. */
export async function standardTypes() {
  const declarations = declarationsOf(await library());
  const own = ownDeclarations();
  const texts = new Map();
  const next = [...CLASSES, ...namesIn(own.text).filter(name => declarations.has(name))];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    if (texts.has(name) || own.aliases.has(name)) continue;
    const found = declarations.get(name);
    if (found === undefined) throw new Error(`The library of TypeScript does not declare ${name}`);
    const isClass = CLASSES.includes(name);
    if (!isClass && found.some(({ kind }) => kind === 'var')) {
      if (own.variables.has(name)) continue;
      throw new Error(`A type names the class ${name}, which is neither picked nor declared in src/worker`);
    }
    const text = found
      .filter(({ kind }) => kind !== 'var' || !own.variables.has(name))
      .map(({ kind, text }) => (kind === 'var' ? withoutIllegal(name, found, text) : withoutOmitted(name, text)))
      .join('\n');
    texts.set(name, text);
    next.push(...namesIn(text).filter(name => declarations.has(name)));
  }
  return (
    HEADER +
    [...texts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, text]) => `\n${text}`)
      .join('')
  );
}

/** Each has its documentation in front. */
function declarationsOf(text) {
  const declarations = new Map();
  const all =
    /(?:^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^(?:declare )?(interface|var|type) (\w+)(?:[^{;\n]*\{\n[\s\S]*?^\};?\n|[^\n]*;\n)/gm;
  for (const [found, kind, name] of text.matchAll(all))
    declarations.set(name, [...(declarations.get(name) ?? []), { kind, text: found }]);
  return declarations;
}

function withoutOmitted(name, text) {
  return (OMITTED[name]?.split(' ') ?? []).reduce(
    (rest, member) => without(rest, `(?:readonly )?"?${member}"?\\??[(<:]`),
    text,
  );
}

/** Classes of events have the constants of the class Event too. */
function withoutIllegal(name, found, text) {
  const isEvent = found.some(({ kind, text }) => kind === 'interface' && / extends Event \{/.test(text));
  const members = MADE_WITHOUT_ARGUMENTS.includes(name) ? text : without(text, 'new\\(\\): ');
  const rest = withoutOmitted(name, members);
  return isEvent ? rest.replace(': {', ': EventPhases & {') : rest;
}

function without(text, member) {
  return text.replace(new RegExp(`(?:^ {4}/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?(?:^ {4}${member}.*\\n)+`, 'gm'), '');
}

function namesIn(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"\n]*"|'[^'\n]*'/g, '');
  return code.match(/\b[A-Z]\w+/g) ?? [];
}

/** The names of what src/worker declares in place of the library. */
function ownDeclarations() {
  const names = { variables: new Set(), aliases: new Set(), text: '' };
  for (const file of readdirSync('src/worker').filter(file => file !== 'dom.d.ts')) {
    const text = readFileSync(join('src/worker', file), 'utf8');
    names.text += text;
    for (const [, kind, name] of text.matchAll(/^(?:declare )?(var|type) (\w+)/gm))
      names[kind === 'var' ? 'variables' : 'aliases'].add(name);
  }
  return names;
}

async function library() {
  const folder = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
  const { default: executable } = await import(pathToFileURL(join(folder, 'lib/getExePath.js')).href);
  return readFileSync(join(dirname(executable()), 'lib.webworker.d.ts'), 'utf8').replaceAll('\r\n', '\n');
}
