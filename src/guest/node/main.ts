/**
 * Node's modules, in a bundle beside the main one of the guest realm. It is evaluated only in realms whose function imports one of them, and each module when
 * it is first imported.
 */
import type { NodeSetup, RequireNode } from '../modules/node-modules.ts';
import { installNodeGlobals } from './globals.ts';
import { requireNode } from './modules.ts';
import { setOptions, setRequire } from './options.ts';

export function install(setup: NodeSetup): RequireNode {
  setOptions(setup.flags, setup.env);
  setRequire(requireNode);
  installNodeGlobals();
  return requireNode;
}
