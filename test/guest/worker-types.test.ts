/**
 * `edgehost/worker`, alone, and `edgehost/worker/dom`, together with TypeScript's own library, and what functions find: the names of one
 * are those of the other.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import vm from 'node:vm';
import test from 'ava';
import { textOf } from '../docs/markdown.js';
import { TestRealm } from './test-realm.js';

interface Shape {
  readonly isClass: boolean;
  /** Of instances. */
  readonly members: readonly string[];
  readonly statics: readonly string[];
  /** Of instances, of classes, and of objects that are no instance of a global class, inherited ones too, as types of keys. */
  readonly keys: readonly string[];
  readonly staticKeys: readonly string[];
}

const WORKER_TYPES = fileURLToPath(new URL('../../src/worker.d.ts', import.meta.url));
const DOM_TYPES = fileURLToPath(new URL('../../src/worker/dom.d.ts', import.meta.url));
const ADDITIONS = fileURLToPath(new URL('../../src/worker/additions.d.ts', import.meta.url));
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));

/** What the library of the language declares, of which functions have nothing. */
const REMOVED = ['Atomics', 'FinalizationRegistry', 'SharedArrayBuffer'];

/** What functions have and TypeScript's library does not declare in a way that could be added to. */
const UNDECLARED: Readonly<Record<string, string>> = {
  Navigator: 'the library calls the class WorkerNavigator',
  'EventSource.from': 'nothing can be added to the type of a variable of the library',
  'ReadableStream.from': 'nothing can be added to the type of a variable of the library',
};

/** What the library declares of interfaces that functions have, and functions do not have. */
const ABSENT: Readonly<Record<string, string>> = {
  'Cache.add': 'of service workers',
  'Cache.addAll': 'of service workers',
  'Cache.keys': 'of service workers',
  'Cache.matchAll': 'of service workers',
  'CacheStorage.delete': 'of service workers',
  'CacheStorage.has': 'of service workers',
  'CacheStorage.keys': 'of service workers',
  'CacheStorage.match': 'of service workers',
  'FetchEvent.clientId': 'of service workers',
  'FetchEvent.handled': 'of service workers',
  'FetchEvent.preloadResponse': 'of service workers',
  'FetchEvent.resultingClientId': 'of service workers',
  'Performance.clearResourceTimings': 'what is fetched makes no performance entries',
  'Performance.onresourcetimingbufferfull': 'what is fetched makes no performance entries',
  'Performance.setResourceTimingBufferSize': 'what is fetched makes no performance entries',
  'Scheduler.postTask': 'there are no priorities among the tasks of a function',
  'Scheduler.yield': 'there are no priorities among the tasks of a function',
  'URL.createObjectURL': 'there is nobody to load such a URL',
  'URL.revokeObjectURL': 'there is nobody to load such a URL',
  'WebSocket.bufferedAmount': 'what the host holds is its own to count',
};

/** Globals of the language that newer versions of Node have, and the library of es2023 does not. */
const NEWER = ['Iterator', 'Float16Array', 'SuppressedError', 'DisposableStack', 'AsyncDisposableStack', 'Temporal'];

const found = guestShapes();

test('edgehost/worker declares the globals and the members that functions have, and no others', async t => {
  const lines = [...found].flatMap(([name, { isClass, keys, staticKeys }]) => {
    if (isClass)
      return [`same<keyof ${name}, ${union(keys)}>(true);`, `same<keyof typeof ${name}, ${union(staticKeys)}>(true);`];
    return name === 'console' ? [`same<keyof typeof ${name}, ${union(keys)}>(true);`] : [];
  });
  const globals = union([...globalNames(), ...REMOVED].map(name => `'${name}'`));
  const text = `
    declare function same<A, B>(
      isSame: [Exclude<A, B>, Exclude<B, A>] extends [never, never] ? true : { extra: Exclude<A, B>; missing: Exclude<B, A> },
    ): void;
    same<keyof typeof globalThis, ${globals}>(true);
    ${lines.join('\n')}
    export {};`;
  t.true(lines.length > 100);
  t.is(await compiled(text, ['es2023'], WORKER_TYPES), '');
});

test('edgehost/worker rejects what functions do not have', async t => {
  const uses = [
    'document',
    'window',
    'XMLHttpRequest',
    'indexedDB',
    'Worker',
    'WebAssembly',
    'process',
    'Buffer',
    'postMessage({})',
    'caches.match("a")',
    'new Cache()',
    'URL.createObjectURL(new Blob())',
    'new Response(new ReadableStream<string>())',
    'setTimeout("alert()")',
    'globalThis.document',
  ];
  const lines = uses.map(use => `// @ts-expect-error\nvoid (${use});`);
  t.is(await compiled(`${lines.join('\n')}\nexport {};`, ['es2022'], WORKER_TYPES), '');
});

test('edgehost/worker accepts what functions take and the library of TypeScript does not', async t => {
  const uses = [
    'new Headers(new Map([["a", "b"]]))',
    'new URLSearchParams(new Headers())',
    'new Blob(new Set(["a"]))',
    'new File(new Set(["a"]), "a")',
    'new Response(new Uint8Array(8).subarray(1) as Uint8Array)',
    'new Request("http://a", { method: "POST", body: "a", duplex: "half" })',
    'new CompressionStream("brotli")',
    'ReadableStream.from([1])',
    'AbortSignal.any(new Set([AbortSignal.timeout(1)]))',
    'crypto.subtle.digest("SHA-256", new Uint8Array(1) as Uint8Array)',
    'crypto.subtle.generateKey("X25519", false, new Set(["deriveBits" as const]))',
    'new WebSocket("http://a").addEventListener("error", event => event.message)',
  ];
  const lines = uses.map(use => `void (${use});`);
  t.is(await compiled(`${lines.join('\n')}\nexport {};`, ['es2022'], WORKER_TYPES), '');
});

test('edgehost/worker/dom declares every global of functions with all of its members, beside webworker', async t => {
  const uses = [...found].flatMap(([name, { members, statics }]) => [
    [name, `globalThis.${name}`],
    ...statics.map(member => [`${name}.${member}`, `${name}.${member}`]),
    ...members.map(member => [`${name}.${member}`, `(null as unknown as InstanceType<typeof ${name}>).${member}`]),
  ]);
  const lines = uses
    .filter(([name = '']) => !Object.hasOwn(UNDECLARED, name) && !Object.hasOwn(UNDECLARED, name.split('.')[0] ?? ''))
    .map(([, use]) => `use(${use});`);
  const text = `declare function use(value: unknown): void;\n${lines.join('\n')}\nexport {};\n`;
  t.is(await compiled(text, ['es2023', 'webworker'], DOM_TYPES), '');
});

test('functions have every value that edgehost/worker/dom declares', t => {
  const text = readFileSync(ADDITIONS, 'utf8');
  const names = [...text.matchAll(/^declare (?:var|const|let|class|function) (\w+)/gm)].map(match => match[1] ?? '');
  t.true(names.includes('FixedLengthStream'));
  t.deepEqual(
    names.filter(name => !found.has(name)),
    [],
  );
  t.deepEqual(missingMembers(text), []);
});

test('functions have every member that the library of TypeScript declares of their interfaces, but those of browsers', async t => {
  const { default: getExePath }: { default: () => string } = await import(
    new URL('lib/getExePath.js', `file://${typescript}/`).href
  );
  const library = readFileSync(join(dirname(getExePath()), 'lib.webworker.d.ts'), 'utf8');
  t.deepEqual(missingMembers(library).sort(), Object.keys(ABSENT).sort());
});

test('docs/functions.md names values that the library of TypeScript declares and functions do not have', async t => {
  const { default: getExePath }: { default: () => string } = await import(
    new URL('lib/getExePath.js', `file://${typescript}/`).href
  );
  const library = readFileSync(join(dirname(getExePath()), 'lib.webworker.d.ts'), 'utf8');
  const declared = new Set(
    [...library.matchAll(/^declare (?:var|function|namespace) (\w+)/gm)].map(([, name]) => name),
  );
  const [, list = ''] = /"no-restricted-globals": (\[.*?\])/s.exec(textOf('docs/functions.md')) ?? [];
  const [, ...names]: string[] = JSON.parse(list);
  t.true(names.length > 10);
  t.deepEqual(
    names.filter(name => !declared.has(name)),
    [],
    'is not declared',
  );
  t.deepEqual(
    names.filter(name => found.has(name)),
    [],
    'is there',
  );
});

/** What the compiler says of a program in an empty folder. */
async function compiled(text: string, lib: readonly string[], types: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-types-'));
  try {
    writeFileSync(join(folder, 'all.ts'), text);
    const compilerOptions = { strict: true, noEmit: true, target: 'es2022', lib, module: 'nodenext', types: [types] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.ts'] }));
    const run = promisify(execFile)(process.execPath, [join(typescript, 'bin/tsc'), '-p', folder]);
    return (await run.catch((error: { stdout: string }) => error)).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function union(types: readonly string[]): string {
  return types.length === 0 ? 'never' : types.join(' | ');
}

/** Those of the language too, as far as the oldest library that functions are compiled with knows them. */
function globalNames(): string[] {
  const { realm } = new TestRealm();
  const names: string[] = JSON.parse(
    vm.runInContext('JSON.stringify(Object.getOwnPropertyNames(globalThis))', realm.context),
  );
  return names.filter(name => !NEWER.includes(name));
}

/** The globals of functions that are not of the language. */
function guestShapes(): Map<string, Shape> {
  const language: string[] = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
  const { realm } = new TestRealm();
  const text: string = vm.runInContext(
    `JSON.stringify(Object.getOwnPropertyNames(globalThis).map(name => {
       const value = globalThis[name];
       const names = object => (object === undefined ? [] : Object.getOwnPropertyNames(object));
       const symbols = ['iterator', 'asyncIterator'];
       const keys = (object, end) => {
         const all = new Set();
         for (let o = object; o !== null && o !== end; o = Object.getPrototypeOf(o)) {
           for (const key of names(o)) all.add(JSON.stringify(key));
           for (const key of symbols) if (Object.hasOwn(o, Symbol[key])) all.add('typeof Symbol.' + key);
         }
         return all;
       };
       const isClass = typeof value === 'function' && value.prototype !== undefined && /^[A-Z]/.test(name);
       const of = isClass ? keys(value.prototype, Object.prototype) : keys(Object(value), Object.prototype);
       of.delete('"constructor"');
       // Each event has this one of its own, and each error may have those.
       if (isClass && (value === Event || value.prototype instanceof Event)) of.add('"isTrusted"');
       if (isClass && value.prototype instanceof Error) {
         for (const key of ['"stack"', '"cause"']) of.add(key);
         of.delete('"toString"');
       }
       const statics = isClass ? keys(value, Function.prototype) : new Set();
       for (const key of ['"length"', '"name"']) statics.delete(key);
       return [name, {
         isClass,
         members: isClass ? names(value.prototype).filter(member => member !== 'constructor') : [],
         statics: isClass ? names(value).filter(member => !['length', 'name', 'prototype'].includes(member)) : [],
         keys: [...of],
         staticKeys: [...statics],
       }];
     }))`,
    realm.context,
  );
  const shapes: [string, Shape][] = JSON.parse(text);
  return new Map(shapes.filter(([name]) => !language.includes(name)));
}

/** Of interfaces that functions have: `Name.member` for each member that is declared and not there. */
function missingMembers(declarations: string): string[] {
  const missing: string[] = [];
  const bodies = /^(?:interface|class|declare var) (\w+)[^{;\n]*\{\n([\s\S]*?)^\}/gm;
  for (const [, name = '', body = ''] of declarations.matchAll(bodies)) {
    if (!found.has(name)) continue;
    for (const [, member = ''] of body.matchAll(/^ {2,4}(?:readonly |get |set )?(\w+)\??[(:<]/gm)) {
      if (!['prototype', 'new', 'constructor'].includes(member) && !hasMember(name, member))
        missing.push(`${name}.${member}`);
    }
  }
  return [...new Set(missing)];
}

/** Own, inherited from a class that functions have, or on each instance. */
function hasMember(name: string, member: string): boolean {
  const shape = found.get(name);
  if (shape === undefined || shape.members.includes(member) || shape.statics.includes(member)) return true;
  if (name === 'Event' && member === 'isTrusted') return true;
  return found.get('EventTarget')?.members.includes(member) === true;
}
