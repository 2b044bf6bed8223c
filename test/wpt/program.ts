/**
 * One function out of a test and what it needs: a classic script whose fetch handler runs the test harness and answers with the
 * results. Nothing can be done outside of a handler, so that is where the tests run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseExpressionAt } from 'acorn';
import { full } from 'acorn-walk';
import type { TestFile } from './meta.js';

/** The host of the tests' server; its port is the one that the operating system gave. */
export const HOST = 'web-platform.test';

export interface SubtestResult {
  readonly name: string;
  /** 0 pass, 1 fail, 2 timeout, 3 not run, 4 precondition failed. */
  readonly status: number;
  readonly message: string | null;
}

export interface RunResult {
  readonly subtests: readonly SubtestResult[];
  /** 0 when the harness is satisfied. */
  readonly status: number;
  readonly message: string | null;
}

/** A script of a program for an engine that runs scripts one by one. */
export interface Script {
  readonly name: string;
  readonly source: string;
}

/**
 * What plain Node runs, one script after the other in the global scope, as Node's own runner of these tests does. The last one leaves
 * the results to the global function `$answer`.
 */
export function buildScripts(checkout: string, origin: string, test: TestFile, variant: string): Script[] {
  return [
    { name: 'prelude', source: prelude(new URL(`/${test.path}${variant}`, origin)) },
    { name: 'testharness.js', source: readScript(checkout, 'resources/testharness.js', origin) },
    { name: 'results', source: `${WINDOW}${report('results => $answer(results)')}` },
    ...test.scripts.map(name => ({ name, source: readScript(checkout, name, origin) })),
    { name: test.path, source: substitute(test.path, test.source, origin) },
  ];
}

/**
 * `declared`: names that the test assigns to without a declaration. Functions are strict code, tests need not be.
 */
export function buildProgram(
  checkout: string,
  origin: string,
  test: TestFile,
  variant: string,
  declared: readonly string[],
): string {
  const scripts = ['resources/testharness.js', ...test.scripts].map(path => readScript(checkout, path, origin));
  return `addEventListener('fetch', event => event.respondWith(new Promise($answer => $run($answer))));
function $prelude() {
${prelude(new URL(`/${test.path}${variant}`, origin))}
}
function $run($answer) {
$prelude();
Object.assign(globalThis, { ${functionNames(scripts.slice(1)).join(', ')} });
${declared.map(name => `var ${name};`).join('')}
${scripts[0]}
// Interface tests evaluate text to get at their objects.
globalThis.eval = text => ({ ${objectExpressions(test.source)
    .map(text => `[${JSON.stringify(text)}]: () => (${text})`)
    .join(', ')} })[text]();
${WINDOW}
${report('results => $answer(Response.json(results))')}
${scripts.slice(1).join('\n;\n')}
;
${substitute(test.path, test.source, origin)}
;
}`;
}

/** What every test finds, whatever runs it: a place, and resources by names relative to it. */
function prelude(url: URL): string {
  const { href, origin, pathname, search, host, hostname, port, protocol } = url;
  const location = { href, origin, pathname, search, host, hostname, port, protocol, hash: '' };
  return `{
  globalThis.self ??= globalThis;
  const location = ${JSON.stringify(location)};
  location.toString = () => location.href;
  Object.defineProperty(globalThis, 'location', { value: location, writable: true, configurable: true });
  globalThis.GLOBAL = { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false };
  // Functions have no base URL; the tests' own resources are named relative to the document that they are meant for.
  const absolute = input => {
    const isRelative = typeof input === 'string' && !URL.canParse(input) && URL.canParse(input, location.href);
    return isRelative ? new URL(input, location.href).href : input;
  };
  const { fetch, Request } = globalThis;
  globalThis.fetch = {
    fetch(input) {
      const args = [...arguments];
      if (args.length > 0) args[0] = absolute(input);
      return fetch(...args);
    },
  }.fetch;
  globalThis.Request = new Proxy(Request, {
    construct(target, args, newTarget) {
      if (args.length > 0) args[0] = absolute(args[0]);
      return Reflect.construct(target, args, newTarget);
    },
  });
  Request.prototype.constructor = globalThis.Request;
}
${url.pathname.startsWith('/FileAPI/') && !url.pathname.includes('idlharness') ? BLOB_READER : ''}`;
}

/** The tests of Blob read what they have made with a FileReader, which neither functions nor plain Node have. */
const BLOB_READER = `globalThis.FileReader ??= class FileReader {
  readAsText(blob) { this.#read(blob.text()); }
  readAsArrayBuffer(blob) { this.#read(blob.arrayBuffer()); }
  #read(promise) {
    promise.then(
      result => { this.result = result; this.onload?.({ target: this }); this.onloadend?.({ target: this }); },
      error => { this.error = error; this.onerror?.({ target: this }); },
    );
  }
};`;

/** Interface tests ask what kind of global object this is. */
const WINDOW =
  'globalThis.Window = class Window { static [Symbol.hasInstance](value) { return value === globalThis; } };\n';

function report(answer: string): string {
  return `add_completion_callback((tests, status) => {
  const subtests = tests.map(({ name, status, message }) => ({ name, status, message }));
  (${answer})({ subtests, status: status.status, message: status.message });
});`;
}

/** What interface tests would evaluate to get their objects, which cannot be done where code generation is off. */
function objectExpressions(source: string): string[] {
  const found = new Set<string>();
  const program = parse(source, { ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true });
  full(program, node => {
    const call = source.slice(node.start, node.end);
    if (node.type !== 'CallExpression' || !/^\w+\.add_objects\(/.test(call)) return;
    full(node, inner => {
      const text: unknown = 'value' in inner && inner.type === 'Literal' ? inner.value : undefined;
      if (typeof text === 'string' && isExpression(text)) found.add(text);
    });
  });
  return [...found];
}

function isExpression(text: string): boolean {
  try {
    parseExpressionAt(`(${text})`, 0, { ecmaVersion: 'latest' });
    return true;
  } catch {
    return false;
  }
}

/** Functions that scripts declare, which would be global ones elsewhere. */
function functionNames(scripts: readonly string[]): string[] {
  return scripts.flatMap(script =>
    parse(script, { ecmaVersion: 'latest', sourceType: 'script' }).body.flatMap(statement =>
      statement.type === 'FunctionDeclaration' ? [statement.id.name] : [],
    ),
  );
}

function readScript(checkout: string, path: string, origin: string): string {
  const file = join(checkout, path);
  return existsSync(file)
    ? substitute(path, readFileSync(file, 'utf8'), origin)
    : `throw new Error(${JSON.stringify(`no such script: ${path}`)});`;
}

/** What the tests' server puts into files with ".sub." in their names. */
function substitute(path: string, source: string, origin: string): string {
  if (!path.includes('.sub.')) return source;
  const { hostname, port } = new URL(origin);
  return source
    .replace(/\{\{host\}\}/g, hostname)
    .replace(/\{\{ports\[\w+\]\[\d\]\}\}/g, port)
    .replace(/\{\{(?:domains|hosts\[\w*\])\[(\w*)\]\}\}/g, (_, name: string) =>
      name === '' ? hostname : `${name}.${hostname}`,
    );
}
