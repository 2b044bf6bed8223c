/**
 * Node's modules (src/guest/node). They are a bundle of their own, which the host realm evaluates in this realm when the function needs one of them, and which
 * uses parts of this bundle.
 */
import { theEnv } from '../env/env.ts';
import { arrayIndexOf, ErrorCtor } from '../primordials.ts';
import { sharedWithNode } from './node-shared.ts';

/** The argument of the bundle's completion value: the parts of this bundle, the flags and the variables of the function. */
export interface NodeSetup {
  readonly shared: object;
  readonly flags: readonly string[];
  readonly env: object;
}

/** Answers a module by its name without `node:`. */
export type RequireNode = (name: string) => unknown;

let flags: readonly string[] = [];
let requireNode: RequireNode | undefined;

/** The flags come with the function's configuration, before its modules are linked. */
export function setNodeFlags(all: readonly string[]): void {
  flags = all;
}

/** Whether the function can import Node's modules. */
export function hasNode(): boolean {
  return arrayIndexOf(flags, 'nodejs_compat') >= 0;
}

export function adoptNode(install: (setup: NodeSetup) => RequireNode): void {
  requireNode = install({ __proto__: null, shared: sharedWithNode(), flags, env: theEnv() } as never); // with no inherited names
}

/** The value that `require()` of the module answers. */
export function nodeModule(name: string): unknown {
  if (requireNode === undefined) throw new ErrorCtor(`The module "node:${name}" could not be prepared`);
  return requireNode(name);
}
