/**
 * The names of Node's modules that have no code here. Functions and classes throw when they are called, and say what to do; constants are Node's own. The names
 * come from a generated table (.scripts/node-shapes.mjs), so that every import links.
 */
import SHAPES from './shapes.json';

interface Shape {
  readonly functions: readonly string[];
  readonly classes: readonly string[];
  readonly values: { readonly [name: string]: unknown };
  readonly groups: { readonly [name: string]: readonly string[] };
  /** Descriptions, and whether the registry of the language has the symbol. */
  readonly symbols: { readonly [name: string]: readonly [description: string, isRegistered: boolean] };
}

/** By module, the advice to an author whose code calls what it has not. */
const ADVICE: { readonly [module: string]: string } = {
  child_process: 'A function cannot start processes: call a service of the application, or fetch()',
  cluster: 'The host starts and ends isolates: export handlers, and the host calls them',
  dgram: 'A function has no UDP: use fetch(), or connect() of edgehost:sockets for TCP',
  dns: 'Names are resolved by the host: give them to fetch() or connect()',
  'dns/promises': 'Names are resolved by the host: give them to fetch() or connect()',
  fs: 'The files of a function are in memory, and nothing else changes them: docs/node.md has what there is',
  'fs/promises': 'The files of a function are in memory, and nothing else changes them: docs/node.md has what there is',
  http: 'Use fetch() for requests, and export a fetch handler in place of a server',
  http2: 'Use fetch() for requests, and export a fetch handler in place of a server',
  https: 'Use fetch() for requests, and export a fetch handler in place of a server',
  inspector: 'Run the function with isolation "thread", and attach a debugger to the host',
  'inspector/promises': 'Run the function with isolation "thread", and attach a debugger to the host',
  net: 'Use connect() of edgehost:sockets',
  repl: 'A function has no terminal',
  sqlite: 'Use a database binding, or the storage of a stateful object',
  test: 'Run tests outside of functions',
  tls: 'Use connect() of edgehost:sockets with secureTransport',
  vm: 'Code from strings is not compiled: deploy it as a module, or use host.sandbox() of the application',
  wasi: 'WebAssembly is not available in functions',
  worker_threads: 'A function has one thread: use a queue, or call another function',
};
const GENERAL_ADVICE = 'docs/node.md lists the available functions';

/** The error for a function that is not available. */
export function notSupported(module: string, what: string, advice = ADVICE[module] ?? GENERAL_ADVICE): Error {
  const error = new Error(`node:${module}: ${what} is not supported in functions. ${advice}.`);
  Object.defineProperty(error, 'code', {
    value: 'EDGE_NOT_SUPPORTED',
    enumerable: true,
    writable: true,
    configurable: true,
  });
  return error;
}

const thrower = Symbol('edgehost.unsupported');

/** Whether the value stands for something that Node has and functions have not. */
export function isUnsupported(value: unknown): boolean {
  return typeof value === 'function' && Object.hasOwn(value, thrower);
}

function throwing(module: string, name: string, isClass: boolean): unknown {
  const value = isClass
    ? {
        [name]: class {
          constructor() {
            throw notSupported(module, `new ${name}()`);
          }
        },
      }[name]
    : {
        [name](): never {
          throw notSupported(module, `${name}()`);
        },
      }[name];
  Object.defineProperty(value, thrower, { value: true });
  return value;
}

/** Adds what the module lacks of Node's names. */
export function completed(module: string, value: unknown): unknown {
  const text = (SHAPES as { readonly [name: string]: string | undefined })[module];
  if (text === undefined || (typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
  const { functions, classes, values, groups, symbols }: Shape = JSON.parse(text);
  for (const name of functions) if (!(name in value)) add(value, name, throwing(module, name, false));
  for (const name of classes) if (!(name in value)) add(value, name, throwing(module, name, true));
  for (const name of Object.keys(values)) if (!(name in value)) add(value, name, values[name]);
  for (const [name, [description, isRegistered]] of Object.entries(symbols)) {
    if (!(name in value)) add(value, name, isRegistered ? Symbol.for(description) : Symbol(description));
  }
  for (const name of Object.keys(groups)) {
    if (name in value) continue;
    const group = {};
    for (const member of groups[name] ?? []) add(group, member, throwing(module, `${name}.${member}`, false));
    add(value, name, group);
  }
  return value;
}

function add(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

/** The constants of a module, which are Node's own. */
export function valuesOf(module: string): { readonly [name: string]: unknown } {
  const { values }: Shape = JSON.parse((SHAPES as { readonly [name: string]: string })[module] ?? '{"values":{}}');
  return values;
}

/** The names of all modules, also of those without code. */
export function nodeModuleNames(): readonly string[] {
  return Object.keys(SHAPES);
}

export function hasNodeModule(name: string): boolean {
  return Object.hasOwn(SHAPES, name);
}
