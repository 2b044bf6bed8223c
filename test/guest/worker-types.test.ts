/** `edgehost/worker`, together with TypeScript's own library, and what functions find: the names of one are those of the other. */
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
  /** Of instances. */
  readonly members: readonly string[];
  readonly statics: readonly string[];
}

const WORKER_TYPES = fileURLToPath(new URL('../../src/worker.d.ts', import.meta.url));
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));

/** What functions have and TypeScript's library does not declare in a way that could be added to. */
const UNDECLARED: Readonly<Record<string, string>> = {
  Navigator: 'the library calls the class WorkerNavigator',
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
};

const found = guestShapes();

test('edgehost/worker declares every global of functions with all of its members', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-types-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const uses = [...found].flatMap(([name, { members, statics }]) => [
    [name, `globalThis.${name}`],
    ...statics.map(member => [`${name}.${member}`, `${name}.${member}`]),
    ...members.map(member => [`${name}.${member}`, `(null as unknown as InstanceType<typeof ${name}>).${member}`]),
  ]);
  const lines = uses
    .filter(([name = '']) => !Object.hasOwn(UNDECLARED, name) && !Object.hasOwn(UNDECLARED, name.split('.')[0] ?? ''))
    .map(([, use]) => `use(${use});`);
  writeFileSync(
    join(folder, 'all.ts'),
    `declare function use(value: unknown): void;\n${lines.join('\n')}\nexport {};\n`,
  );
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'webworker'],
    module: 'nodenext',
    types: [WORKER_TYPES],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.ts'] }));
  const compiled = promisify(execFile)(process.execPath, [join(typescript, 'bin/tsc'), '-p', folder]);
  t.is((await compiled.catch((error: { stdout: string }) => error)).stdout, '');
});

test('functions have every value that edgehost/worker declares', t => {
  const text = readFileSync(WORKER_TYPES, 'utf8');
  const names = [...text.matchAll(/^ {2}(?:var|const|let|class|function) (\w+)/gm)].map(match => match[1] ?? '');
  t.true(names.includes('FixedLengthStream'));
  t.deepEqual(
    names.filter(name => !found.has(name)),
    [],
  );
  t.deepEqual(missingMembers(text, '  '), []);
});

test('functions have every member that the library of TypeScript declares of their interfaces, but those of browsers', async t => {
  const { default: getExePath }: { default: () => string } = await import(
    new URL('lib/getExePath.js', `file://${typescript}/`).href
  );
  const library = readFileSync(join(dirname(getExePath()), 'lib.webworker.d.ts'), 'utf8');
  t.deepEqual(missingMembers(library, '').sort(), Object.keys(ABSENT).sort());
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
    names.filter(name => found.has(name) && name !== 'caches'),
    [],
    'is there',
  );
});

/** The globals of functions that are not of the language. */
function guestShapes(): Map<string, Shape> {
  const language: string[] = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
  const { realm } = new TestRealm();
  const text: string = vm.runInContext(
    `JSON.stringify(Object.getOwnPropertyNames(globalThis).map(name => {
       const value = globalThis[name];
       const names = object => (object === undefined ? [] : Object.getOwnPropertyNames(object));
       const isClass = typeof value === 'function' && value.prototype !== undefined;
       return [name, {
         members: isClass ? names(value.prototype).filter(member => member !== 'constructor') : [],
         statics: isClass ? names(value).filter(member => !['length', 'name', 'prototype'].includes(member)) : [],
       }];
     }))`,
    realm.context,
  );
  const shapes: [string, Shape][] = JSON.parse(text);
  return new Map(shapes.filter(([name]) => !language.includes(name)));
}

/** Of interfaces that functions have: `Name.member` for each member that is declared and not there. */
function missingMembers(declarations: string, indent: string): string[] {
  const missing: string[] = [];
  const bodies = new RegExp(
    `^${indent}(?:interface|class|declare var|var) (\\w+)[^{;\\n]*\\{\\n([\\s\\S]*?)^${indent}\\}`,
    'gm',
  );
  for (const [, name = '', body = ''] of declarations.matchAll(bodies)) {
    if (!found.has(name)) continue;
    for (const [, member = ''] of body.matchAll(
      new RegExp(`^${indent} {2,4}(?:readonly |get |set )?(\\w+)\\??[(:<]`, 'gm'),
    )) {
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
