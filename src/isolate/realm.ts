/**
 * The guest realm: an ordinary V8 context without any object of this realm in it (rule R1), and the guest bundle evaluated in it. A thread serves one function
 * in one realm, which is built ahead of time: so V8 compiles functions lazily, which takes less memory than a code cache would.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import vm from 'node:vm';
import type { FrameSlot } from './async-context/carrier.js';
import type { GuestFunction, HostCall } from './bridge.js';
import { hasNativeStacks } from './stacks/stack-formatter.js';

/** The context's global object. It is passed to node:vm and to nothing else. */
export type GuestContext = vm.Context;

export interface Realm {
  readonly context: GuestContext;
  /** The guest's `enter(ev, a, b, c, d)`. */
  readonly enter: GuestFunction;
  /** Used by the trampolines of modules only, see modules.ts. */
  readonly imported: GuestFunction;
  readonly dynamicImport: GuestFunction;
  readonly moduleBytes: GuestFunction;
  readonly builtIn: GuestFunction;
  /** Takes the completion value of the bundle of Node's modules. */
  readonly adoptNode: GuestFunction;
  /** For frames of asynchronous context, see async-context/carrier.ts. */
  readonly contextSlot: FrameSlot;
}

const bundleUrl = new URL('./guest.bundle.js', import.meta.url);
/** The bundle of Node's modules. */
export const nodeBundleUrl = new URL('./guest-node.bundle.js', import.meta.url);
/** Less than the 128 KiB from which on glibc maps a block of its own. */
const CHUNK_BYTES = 64 * 1024;

/** Its compiled code is shared by all realms of the thread: the function's realm, and the realm of the warm-up. */
let bundle: vm.Script | undefined;
let replacement: string | undefined;

/** Replaces the bundle of the package, before the first realm is made. Its completion value is an `install` of the same form. */
export function useBundle(text: string): void {
  replacement = text;
}

export function createRealm(hostCall: HostCall): Realm {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
  bundle ??= new vm.Script(replacement ?? readAscii(bundleUrl), { filename: 'edgehost:guest' });
  const install: GuestFunction = bundle.runInContext(context);
  // Only the bundle has run in this realm so far, so what it returns is as its type says (guest/main.ts).
  const entry = Reflect.apply(install, undefined, [hostCall, hasNativeStacks()]) as Omit<Realm, 'context'>;
  const { enter, imported, dynamicImport, moduleBytes, builtIn, adoptNode, contextSlot } = entry;
  return { context, enter, imported, dynamicImport, moduleBytes, builtIn, adoptNode, contextSlot };
}

/**
 * The text of a bundle, which is ASCII. It is read in small chunks: when glibc frees a larger block it raises, for the whole process, the amount of freed
 * memory that every thread keeps. A collection would then leave each isolate 2.2 MB larger (measured on Node 20.20).
 */
export function readAscii(url: URL): string {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const file = openSync(url, 'r');
  let text = '';
  for (let bytes = readSync(file, chunk); bytes > 0; bytes = readSync(file, chunk)) {
    text += chunk.toString('latin1', 0, bytes);
  }
  closeSync(file);
  return text;
}
