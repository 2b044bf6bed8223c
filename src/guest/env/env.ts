/** The configuration of a function, as its handlers see it. */

import type { NeededExport } from '../../protocol/needed-export.ts';
import type { LoadedSetup, RunSetup } from '../../protocol/run-setup.ts';
import type { ServiceId } from '../../quotas/service-calls.ts';
import { jsonParse, objectFreeze, objectKeys, TypeErrorCtor } from '../primordials.ts';
import { defineOwn } from '../web/base/idl.ts';
import { loadedEnv } from './loaded-env.ts';

/** The head of Ev.Setup. */
export interface Setup {
  readonly name: string;
  /** Variables and secrets: text, or anything that JSON can hold. */
  readonly env: Readonly<Record<string, unknown>>;
  readonly bindings: readonly { readonly name: string; readonly service: ServiceId; readonly config?: unknown }[];
  /** Exports of the main module that bindings name. */
  readonly neededExports?: readonly NeededExport[];
  /** JSON of `ctx.props`, unless an event has its own; '' or absent for nothing. */
  readonly props?: string;
  readonly flags: readonly string[];
  /** Whether the main file is a classic script, which finds its env in global variables. */
  readonly isScript?: boolean;
  /** How long a stateful object may be idle, in milliseconds. */
  readonly objectIdleMs?: number;
  /** The host keeps answers of stateful objects back until what they have written is on disk. */
  readonly holdsAnswers?: boolean;
  /** Set when another function has loaded the code: its environment, whose services are the bindings. */
  readonly loaded?: LoadedSetup;
  /** Set when the isolate is for runs. */
  readonly run?: RunSetup;
}

/** Created once for each isolate and shared by all of its events, so it is frozen. */
export function createEnv(
  setup: Setup,
  createBinding: (service: ServiceId, name: string, config: unknown) => object,
): object {
  if (setup.loaded !== undefined) {
    environment = objectFreeze(loadedEnv(setup.loaded, name => bindingNamed(setup, name, createBinding)));
    variables = textsOf(environment);
    return environment;
  }
  const env = {};
  const names = objectKeys(setup.env);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name !== undefined) defineOwn(env, name, setup.env[name]);
  }
  for (let i = 0; i < setup.bindings.length; i++) {
    const binding = setup.bindings[i];
    if (binding !== undefined)
      defineOwn(env, binding.name, createBinding(binding.service, binding.name, binding.config));
  }
  if (setup.isScript === true) defineGlobals(env);
  environment = objectFreeze(env);
  variables = setup.env;
  return environment;
}

function bindingNamed(
  { bindings }: Setup,
  name: string,
  createBinding: (service: ServiceId, name: string, config: unknown) => object,
): object {
  for (let i = 0; i < bindings.length; i++) {
    const binding = bindings[i];
    if (binding?.name === name) return createBinding(binding.service, name, binding.config);
  }
  throw new TypeErrorCtor(`There is no binding ${name}`);
}

let environment: object = objectFreeze({});
let variables: Setup['env'] = {};

/** Code that another function has loaded gets any values, of which texts alone are variables. */
function textsOf(env: object): Setup['env'] {
  const texts: Record<string, unknown> = {};
  const names = objectKeys(env);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    const value = (env as Setup['env'])[name]; // any object can be read from
    if (typeof value === 'string') defineOwn(texts, name, value);
  }
  return texts;
}

/** The environment of the function of this realm. */
export function theEnv(): object {
  return environment;
}

/** Its variables and secrets, without the bindings. */
export function theVariables(): Setup['env'] {
  return variables;
}

let isImportable = true;

/** By the flag `disallow_importable_env`: handlers alone have the environment. */
export function hideImportableEnv(): void {
  isImportable = false;
}

/** `env` of `edgehost:workers`. */
export function importableEnv(): object {
  return isImportable ? environment : objectFreeze({});
}

export function parseSetup(json: string): Setup {
  return jsonParse(json);
}

function defineGlobals(env: object): void {
  const names = objectKeys(env);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name !== undefined) defineOwn(globalThis, name, (env as Record<string, unknown>)[name]);
  }
}
