/** The global names of Node. Each is read from its module when code first asks for it. */

import { requireNode } from './modules.ts';
import { hasFlag } from './options.ts';

type Named = { readonly [name: string]: unknown };

const GLOBALS: readonly (readonly [name: string, module: string, key: string | undefined])[] = [
  ['Buffer', 'buffer', 'Buffer'],
  ['process', 'process', undefined],
  ['setImmediate', 'timers', 'setImmediate'],
  ['clearImmediate', 'timers', 'clearImmediate'],
];

/** They take the place of the timers of the web, which are numbers. */
const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'];

export function installNodeGlobals(): void {
  if (hasFlag('enable_nodejs_global_timers')) {
    for (const name of TIMERS) replaceLazily(name, () => (requireNode('timers') as Named)[name]); // the module is an object
  }
  // Before version 2 of the flag, code imports them.
  if (!hasFlag('nodejs_compat_v2')) return;
  for (const [name, module, key] of GLOBALS) {
    defineLazy(name, () => {
      const value = requireNode(module);
      return key === undefined ? value : (value as Named)[key]; // these modules are objects
    });
  }
  defineLazy('require', () =>
    (requireNode('module') as { createRequire(from: string): unknown }).createRequire('file:///bundle/'),
  );
  defineLazy('global', () => globalThis);
}

function defineLazy(name: string, read: () => unknown): void {
  if (!Object.hasOwn(globalThis, name)) replaceLazily(name, read);
}

function replaceLazily(name: string, read: () => unknown): void {
  const enumerable = Object.getOwnPropertyDescriptor(globalThis, name)?.enumerable ?? false;
  const set = (value: unknown): void => {
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable, configurable: true });
  };
  Object.defineProperty(globalThis, name, {
    get() {
      const value = read();
      set(value);
      return value;
    },
    set,
    enumerable,
    configurable: true,
  });
}
