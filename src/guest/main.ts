/**
 * The guest bundle. Evaluated once in each guest realm before any function code; its completion value is `install`. The order of the imports is the order of
 * evaluation: hardening comes first (rule R4), then the errors, which the rest captures.
 */
import './harden.ts';
import { connect, enter } from './bridge.ts';
import { chooseStacks } from './errors.ts';
import { installGlobals } from './globals/globals.ts';
import { dynamicImport, imported, moduleBytes } from './loader.ts';
import { builtIn } from './modules/built-in-modules.ts';
import { adoptNode } from './modules/node-modules.ts';
import { contextSlot } from './web/base/async-context.ts';
import './objects/object-events.ts';
import './startup.ts';
import { startClock } from './web/base/clock.ts';

installGlobals();

/** The guest functions that the host realm calls or gives to the trampolines of modules; and the slot for frames, see web/base/async-context.ts. */
export interface GuestEntry {
  readonly enter: typeof enter;
  readonly imported: typeof imported;
  readonly dynamicImport: typeof dynamicImport;
  readonly moduleBytes: typeof moduleBytes;
  readonly builtIn: typeof builtIn;
  readonly adoptNode: typeof adoptNode;
  readonly contextSlot: typeof contextSlot;
}

export function install(hostCall: Parameters<typeof connect>[0], hasNativeStacks: boolean): GuestEntry {
  chooseStacks(hasNativeStacks);
  connect(hostCall);
  startClock();
  return { enter, imported, dynamicImport, moduleBytes, builtIn, adoptNode, contextSlot };
}
