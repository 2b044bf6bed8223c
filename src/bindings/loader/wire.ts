/**
 * How a function loads code. It opens a loaded function by its id. When the host does not have it, the function sends the code. Both are answered with a
 * number, by which the invocation calls the loaded function as it calls a service binding (bindings/function/wire.ts).
 */

/** The methods of a loader besides FETCH and CALL. */
export const OPEN = 'open';
export const LOAD = 'load';

/** The arguments of OPEN. */
export interface OpenArguments {
  readonly id: string;
}

/** The answer to OPEN and LOAD: the number of the loaded function in this invocation; null when it must be loaded. */
export interface OpenAnswer {
  readonly w: number | null;
}

/** A service that the caller passes on: a binding of its environment, or an entrypoint of its own with the JSON of its props. */
export type PassedService = { readonly b: string } | { readonly e: string; readonly p: string };

/** How the content of a module is used. */
export const MODULE_KINDS = ['esm', 'json', 'text', 'data'] as const;

/** Name, kind, and length in bytes. */
export type SentModule = readonly [name: string, kind: (typeof MODULE_KINDS)[number], bytes: number];

/** The environment of the loaded function: a value (bindings/callbacks/wire.ts). */
export interface SentEnv {
  /** The lengths of its JSON and of its byte sequences, which begin the body of the call. */
  readonly b: readonly number[];
  /** The services that the JSON refers to. */
  readonly f: readonly PassedService[];
}

/** The arguments of LOAD. The body has the environment, then the modules. */
export interface LoadArguments {
  /** Null for code that is loaded for this invocation alone. */
  readonly id: string | null;
  readonly main: string;
  readonly modules: readonly SentModule[];
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
  readonly env?: SentEnv;
  /** Null: no network. Absent: the network of the caller. */
  readonly outbound?: PassedService | null;
  readonly tails?: readonly PassedService[];
  readonly limits?: LoaderLimits;
}

/** Limits of one invocation of the loaded function. */
export interface LoaderLimits {
  readonly cpuMs?: number;
  readonly subRequests?: number;
}

/** The place of a call, in the arguments of FETCH and CALL: the number of the loaded function, its entrypoint, JSON of the props, and limits. */
export type CalledLoaded = readonly [
  loaded: number,
  entrypoint: string,
  props: string,
  cpuMs: number | null,
  subRequests: number | null,
];

/** The longest id of loaded code, in UTF-16 code units. */
export const MAX_ID_LENGTH = 1024;
export const MAX_MODULES = 1000;
/** The longest name of a module. */
export const MAX_MODULE_NAME_LENGTH = 512;
/** All modules together. The limit `scriptBytes` is about their size after gzip. */
export const MAX_CODE_BYTES = 32 * 1024 * 1024;
/** The environment as JSON, with its byte sequences. */
export const MAX_ENV_BYTES = 1024 * 1024;
/** Services in one environment. */
export const MAX_ENV_SERVICES = 100;
export const MAX_LOADED_TAILS = 10;
/** JSON of the props of an entrypoint. */
export const MAX_PROPS_LENGTH = 64 * 1024;

/** Names of services of a loaded function, which its code does not see: of its network, and of its environment by their place there. */
export const OUTBOUND = '$outbound';
export function envService(index: number): string {
  return `$service${index}`;
}
