/** The code that a function wants to load, read from the arguments and the body of its call. The function has written all of it. */
import {
  type LoadArguments,
  type LoaderLimits,
  MAX_CODE_BYTES,
  MAX_ENV_BYTES,
  MAX_ENV_SERVICES,
  MAX_ID_LENGTH,
  MAX_LOADED_TAILS,
  MAX_MODULE_NAME_LENGTH,
  MAX_MODULES,
  MAX_PROPS_LENGTH,
  MODULE_KINDS,
  type PassedService,
  type SentEnv,
  type SentModule,
} from '../../bindings/loader/wire.js';
import type { ServiceBody, ServiceCall } from '../../bindings/service.js';
import { COMPATIBILITY_DATE, COMPATIBILITY_FLAGS } from '../../config-schema/function-shapes.js';
import { EdgeError } from '../../quotas/errors.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { isCount } from '../../quotas/schema/is-count.js';
import { object, wholeNumber } from '../../quotas/schema/schema.js';
import type { ScriptSource } from '../deploy/deployment.js';

/** The text and the byte sequences of an environment, and the services that it refers to. */
export interface LoadedEnv {
  readonly text: string;
  /** Base64. */
  readonly bytes: readonly string[];
  readonly services: readonly PassedService[];
}

export interface WorkerCode {
  readonly source: ScriptSource;
  readonly compatibilityDate: string | undefined;
  readonly compatibilityFlags: readonly string[];
  readonly env: LoadedEnv | undefined;
  /** Null: no network. Undefined: the network of the caller. */
  readonly outbound: PassedService | null | undefined;
  readonly tails: readonly PassedService[];
  readonly limits: LoaderLimits;
  /** Bytes of the modules and the environment. */
  readonly bytes: number;
}

const MAX_LIMIT = 1_000_000_000;

const LOADER_LIMITS = object({
  'cpuMs?': wholeNumber(1, MAX_LIMIT, 'ms'),
  'subRequests?': wholeNumber(1, MAX_LIMIT),
});

const ENTRYPOINT_OPTIONS = object({ 'limits?': LOADER_LIMITS });

const OPTIONS = object({
  'compatibilityDate?': COMPATIBILITY_DATE,
  'compatibilityFlags?': COMPATIBILITY_FLAGS,
  'limits?': LOADER_LIMITS,
});

/** Limits that a caller gives an entrypoint. @throws TypeError */
export function checkLimits({
  cpuMs,
  subRequests,
}: {
  readonly cpuMs: unknown;
  readonly subRequests: unknown;
}): LoaderLimits {
  const given = { cpuMs: cpuMs ?? undefined, subRequests: subRequests ?? undefined };
  checkOptions('getEntrypoint()', { limits: given }, ENTRYPOINT_OPTIONS);
  return given as LoaderLimits; // checked
}

/** @throws TypeError */
export function checkId(args: unknown): string | null {
  const id: unknown = isObject(args) ? args.id : undefined;
  if (id === null) return null;
  if (typeof id !== 'string') throw new TypeError('The call is malformed');
  if (id.length <= MAX_ID_LENGTH) return id;
  throw new TypeError(`The id of loaded code has ${id.length} characters, at most ${MAX_ID_LENGTH} are allowed`);
}

/**
 * Reads all of the code. The bytes are counted for the account while they arrive; the caller counts those that it keeps.
 *
 * Rejects with TypeError and RangeError for values that are not allowed, EdgeError EDGE_SCRIPT_TOO_LARGE.
 */
export async function readCode({ args, body, work }: ServiceCall): Promise<WorkerCode> {
  const { main, modules, env, outbound, tails, ...options } = checkArguments(args);
  checkOptions('the loader', options, OPTIONS);
  const lengths = [...(env?.b ?? []), ...modules.map(([, , bytes]) => bytes)];
  const pieces = await readPieces(body, lengths, work);
  const own = pieces.splice(0, env?.b.length ?? 0);
  const [text, ...sequences] = own;
  return {
    source: {
      main,
      modules: Object.fromEntries(
        modules.map(([name, type], index) => [name, { type, source: pieces[index] ?? Buffer.alloc(0) }]),
      ),
    },
    compatibilityDate: options.compatibilityDate,
    compatibilityFlags: options.compatibilityFlags ?? [],
    env:
      env === undefined || text === undefined
        ? undefined
        : {
            text: text.toString('utf8'),
            bytes: sequences.map(bytes => bytes.toString('base64')),
            services: env.f,
          },
    outbound,
    tails: tails ?? [],
    limits: options.limits ?? {},
    bytes: lengths.reduce((sum, length) => sum + length, 0),
  };
}

type Checked = Omit<LoadArguments, 'id'>;

function checkArguments(args: unknown): Checked {
  if (!isObject(args)) throw malformed();
  const { main, modules, compatibilityDate, compatibilityFlags, env, outbound, tails, limits } = args;
  const checked = checkModules(main, modules);
  return {
    ...checked,
    // Their schemas check them.
    ...({ compatibilityDate, compatibilityFlags, limits } as Pick<
      Checked,
      'compatibilityDate' | 'compatibilityFlags' | 'limits'
    >),
    ...(env !== undefined && { env: checkEnv(env) }),
    ...(outbound !== undefined && { outbound: outbound === null ? null : checkService(outbound) }),
    ...(tails !== undefined && { tails: checkServices(tails, 'tails', MAX_LOADED_TAILS) }),
  };
}

function checkModules(main: unknown, given: unknown): Pick<Checked, 'main' | 'modules'> {
  if (typeof main !== 'string' || !Array.isArray(given) || !given.every(isModule)) throw malformed();
  const modules: readonly SentModule[] = given;
  if (modules.length === 0 || modules.length > MAX_MODULES) {
    throw new RangeError(`The loaded code has ${modules.length} modules, expected 1 to ${MAX_MODULES}`);
  }
  const names = new Set<string>();
  let bytes = 0;
  for (const [name, , length] of modules) {
    checkModuleName(name);
    if (names.has(name)) throw malformed();
    names.add(name);
    bytes += length;
  }
  if (bytes > MAX_CODE_BYTES) {
    throw new EdgeError(
      'EDGE_SCRIPT_TOO_LARGE',
      `The loaded code has ${bytes} bytes in its modules, at most ${MAX_CODE_BYTES} are allowed`,
    );
  }
  const kind = modules.find(([name]) => name === main)?.[1];
  if (kind === undefined) {
    throw new TypeError(
      `The mainModule of the loaded code is ${describe(main)}, expected one of its modules: ${shown([...names])}`,
    );
  }
  if (kind !== 'esm') {
    throw new TypeError(
      `The mainModule of the loaded code, ${describe(main)}, is of the kind ${kind}, expected an ES module: { js: '...' }`,
    );
  }
  return { main, modules };
}

function isModule(value: unknown): value is SentModule {
  if (!Array.isArray(value)) return false;
  const [name, kind, bytes]: unknown[] = value;
  return typeof name === 'string' && MODULE_KINDS.some(known => known === kind) && isCount(bytes);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

function checkModuleName(name: string): void {
  if (name !== '' && name.length <= MAX_MODULE_NAME_LENGTH && !CONTROL.test(name)) return;
  throw new TypeError(
    `A module of the loaded code has the name ${describe(name)}, expected 1 to ${MAX_MODULE_NAME_LENGTH} characters without control characters`,
  );
}

function shown(names: readonly string[]): string {
  const text = names.join(', ');
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}

function checkEnv(value: unknown): SentEnv {
  if (!isObject(value)) throw malformed();
  const { b, f } = value;
  if (!Array.isArray(b) || b.length === 0 || !b.every(isCount)) throw malformed();
  const bytes = b.reduce((sum: number, length: number) => sum + length, 0);
  if (bytes > MAX_ENV_BYTES) {
    throw new RangeError(
      `The env of the loaded code has ${bytes} bytes as it is passed, at most ${MAX_ENV_BYTES} are allowed`,
    );
  }
  return { b, f: checkServices(f, 'env', MAX_ENV_SERVICES) };
}

function checkServices(value: unknown, what: string, most: number): readonly PassedService[] {
  if (!Array.isArray(value)) throw malformed();
  if (value.length > most) {
    throw new RangeError(`The ${what} of the loaded code has ${value.length} services, at most ${most} are allowed`);
  }
  return value.map(checkService);
}

function checkService(value: unknown): PassedService {
  if (!isObject(value)) throw malformed();
  const { b, e, p } = value;
  if (typeof b === 'string') return { b };
  if (typeof e !== 'string' || typeof p !== 'string' || p.length > MAX_PROPS_LENGTH) throw malformed();
  return { e, p };
}

function malformed(): TypeError {
  return new TypeError('The call is malformed');
}

/** The body, cut into pieces of these lengths, which share one buffer. */
async function readPieces(body: ServiceBody | null, lengths: readonly number[], work: CallWork): Promise<Buffer[]> {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  for (let room = work.room?.(); room !== undefined; room = work.room?.()) await room;
  work.countBytes(total);
  try {
    const whole = Buffer.alloc(total);
    let at = 0;
    for await (const chunk of body === null ? [] : body instanceof Uint8Array ? [body] : body) {
      if (at + chunk.length > total) throw malformed();
      whole.set(chunk, at);
      at += chunk.length;
    }
    if (at < total) throw malformed();
    let from = 0;
    return lengths.map(length => {
      from += length;
      return whole.subarray(from - length, from);
    });
  } finally {
    work.countBytes(-total);
  }
}
