/** The flags of the function and its environment, for Node's modules. */

let flags: readonly string[] = [];
let env: object = {};

export function setOptions(allFlags: readonly string[], environment: object): void {
  flags = allFlags;
  env = environment;
}

export function hasFlag(flag: string): boolean {
  return flags.includes(flag);
}

/** The environment of the function, with its bindings. */
export function functionEnv(): object {
  return env;
}

let find: (name: string) => unknown = () => undefined;

/** The modules themselves: a module among them cannot import their table. */
export function setRequire(require: typeof find): void {
  find = require;
}

export function requireNode(name: string): unknown {
  return find(name);
}
