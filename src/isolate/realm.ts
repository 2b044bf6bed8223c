/**
 * The guest realm: an ordinary V8 context without any object of this realm in it (rule R1), and the guest bundle evaluated
 * in it from V8's code cache.
 */
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import type { GuestFunction, HostCall } from './bridge.js';

/** The context's global object. It is passed to node:vm and to nothing else. */
export type GuestContext = vm.Context;

export interface Realm {
  readonly context: GuestContext;
  /** The guest's `enter(ev, a, b, c, d)`. */
  readonly enter: GuestFunction;
  /** For the trampolines of modules only, see modules.ts. */
  readonly imported: GuestFunction;
  readonly dynamicImport: GuestFunction;
  readonly moduleBytes: GuestFunction;
}

const bundleUrl = new URL('./guest.bundle.js', import.meta.url);
let source: string | undefined;
let codeCache: Buffer | undefined;

export function createRealm(hostCall: HostCall): Realm {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
  source ??= readFileSync(bundleUrl, 'utf8');
  const script = new vm.Script(source, { filename: 'edgehost:guest', ...(codeCache && { cachedData: codeCache }) });
  const install: GuestFunction = script.runInContext(context);
  // Only the bundle has run in this realm so far, so what it returns is as its type says (guest/main.ts).
  const entry = Reflect.apply(install, undefined, [hostCall]) as Omit<Realm, 'context'>;
  const { enter, imported, dynamicImport, moduleBytes } = entry;
  codeCache ??= script.createCachedData();
  return { context, enter, imported, dynamicImport, moduleBytes };
}
