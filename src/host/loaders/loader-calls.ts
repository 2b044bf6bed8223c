/** Calls of loaders: a function opens or loads code, and calls it like another function. */
import type { FunctionContext } from '../../bindings/binding.js';
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import { functionBinding } from '../../bindings/function/function-binding.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import { CALL, FETCH } from '../../bindings/function/wire.js';
import { loaderBinding } from '../../bindings/loader/loader-binding.js';
import type { LoaderTarget } from '../../bindings/loader/types.js';
import {
  envService,
  LOAD,
  type LoaderLimits,
  OPEN,
  type OpenAnswer,
  OUTBOUND,
  type PassedService,
} from '../../bindings/loader/wire.js';
import type { Service, ServiceCall, ServiceReply } from '../../bindings/service.js';
import type { LoadHead } from '../../protocol/messages.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { isCount } from '../../quotas/schema/is-count.js';
import type { Peer } from '../invocation/peers.js';
import type { ResolvedLoadOptions } from '../options/options.js';
import { isCallingOrigin } from '../rpc/calling-origin.js';
import { fetchFrom } from '../rpc/function-calls.js';
import { callMethod } from '../rpc/method-call.js';
import type { AccountLoaders } from './account-loaders.js';
import { checkEntrypoint } from './called-entrypoint.js';
import { narrowed } from './loaded-function.js';
import type { StartParts } from './start-parts.js';
import { checkId, checkLimits, readCode, type WorkerCode } from './worker-code.js';

/** The function that loads code. */
export interface LoadingFunction {
  readonly loaders: AccountLoaders;
  readonly options: ResolvedLoadOptions;
  readonly limits: ResolvedLimits;
  readonly egress: CompiledRules | undefined;
  /** It was loaded itself: no service binding can name it. */
  readonly isLoaded: boolean;
  /** The service by which it reaches the network, where it has no network of its own. */
  readonly outbound: ServiceTarget | undefined;
}

export function loaderCalls(caller: LoadingFunction): NonNullable<FunctionContext['callLoader']> {
  return (binding, { id }: LoaderTarget): Service => {
    // Names of functions and bindings have no slash, and ids of loaders neither.
    const loader = id ?? `${caller.options.name}/${binding}`;
    return async call => {
      const { origin, method, args } = call;
      if (!isCallingOrigin(origin)) throw new TypeError('The call belongs to no invocation');
      const { peer } = origin;
      switch (method) {
        case OPEN:
          return opened(caller.loaders.open(loader, textOf(checkId(args)), peer));
        case LOAD:
          return load(caller, loader, call, peer);
        case FETCH:
        case CALL: {
          const { number, target, limits } = checkCalled(args);
          const found = caller.loaders.find(number, peer);
          const runner = found.runnerNow(limits) ?? (await found.runner(limits));
          return method === FETCH ? fetchFrom(runner, target, call, origin) : callMethod(runner, target, call, origin);
        }
        default:
          throw new EdgeError('EDGE_NOT_SUPPORTED', `Loaders have no method ${describe(method)}`);
      }
    };
  };
}

/** Resolves when the code has started: a defect of the code fails the call. */
async function load(caller: LoadingFunction, loader: string, call: ServiceCall, peer: Peer): Promise<ServiceReply> {
  const id = checkId(call.args);
  const code = await readCode(call);
  const number = caller.loaders.load({ loader, id, bytes: code.bytes, parts: partsOf(caller, loader, code) }, peer);
  const { startupTimeMs } = await caller.loaders.find(number, peer).runner(undefined);
  call.work.charge(startupTimeMs);
  return opened(number);
}

function opened(number: number | undefined): ServiceReply {
  return { head: { w: number ?? null } satisfies OpenAnswer };
}

function textOf(id: string | null): string {
  if (id === null) throw new TypeError('The call is malformed');
  return id;
}

interface CalledPlace {
  readonly number: number;
  readonly target: ReturnType<typeof checkEntrypoint>;
  readonly limits: LoaderLimits | undefined;
}

/** @throws TypeError, RangeError */
function checkCalled(args: unknown): CalledPlace {
  const called: unknown = isObject(args) ? args.o : undefined;
  if (!Array.isArray(called)) throw new TypeError('The call is malformed');
  const [number, entrypoint, props, cpuMs, subRequests]: unknown[] = called;
  if (!isCount(number)) throw new TypeError('The call is malformed');
  const target = checkEntrypoint(entrypoint, props);
  const limits = cpuMs === null && subRequests === null ? undefined : checkLimits({ cpuMs, subRequests });
  return { number, target, limits };
}

function partsOf(caller: LoadingFunction, loader: string, code: WorkerCode): StartParts {
  const { options, limits } = caller;
  const services = (code.env?.services ?? []).map((service, index) => ({
    ...passed(caller, service, 'env'),
    name: envService(index),
  }));
  const outbound =
    code.outbound === undefined
      ? caller.outbound
      : code.outbound === null
        ? undefined
        : target(caller, code.outbound, 'globalOutbound');
  const isCutOff = code.outbound !== undefined || caller.outbound !== undefined;
  const bindings =
    outbound === undefined ? services : [...services, { row: functionBinding, name: OUTBOUND, config: outbound }];
  return {
    source: code.source,
    limits: narrowed(limits, code.limits),
    egress: isCutOff ? NO_NETWORK : caller.egress,
    tails: code.tails.map(service => target(caller, service, 'tails')),
    env: envOf(code, outbound !== undefined),
    options: {
      name: nameOf(loader),
      bindings,
      vars: {},
      secrets: {},
      props: {},
      compatibilityDate: code.compatibilityDate ?? options.compatibilityDate,
      compatibilityFlags: code.compatibilityFlags,
      routes: [],
      crons: [],
      tails: [],
      callers: [],
      consumers: [],
      usageModel: undefined,
      limits: {},
      egress: undefined,
      assets: undefined,
      bundle: false,
    },
  };
}

/** All code of one loader has one name in events and usage. A shared loader must not look like a function of its account. */
function nameOf(loader: string): string {
  return loader.includes('/') ? loader : `*/${loader}`;
}

const NO_NETWORK: CompiledRules = {
  lists: [
    {
      option: 'globalOutbound',
      hosts: [],
      closed: {
        why: 'the code was loaded without a network of its own',
        remedy: 'its globalOutbound, a service that fetch() calls, or none, would allow it',
      },
    },
  ],
  secrets: [],
};

function envOf({ env }: WorkerCode, hasOutbound: boolean): LoadHead['loaded'] {
  return {
    env: env?.text ?? '',
    bytes: env?.bytes ?? [],
    services: env?.services.length ?? 0,
    ...(hasOutbound && { hasOutbound }),
  };
}

/** The binding that the loaded code gets for a service of its caller. @throws TypeError, EdgeError EDGE_NOT_SUPPORTED */
function passed(
  caller: LoadingFunction,
  service: PassedService,
  place: string,
): Pick<ResolvedLoadOptions['bindings'][number], 'row' | 'config'> {
  const found = 'b' in service ? caller.options.bindings.find(({ name }) => name === service.b) : undefined;
  if (found?.row === loaderBinding) {
    const { id = `${caller.options.name}/${found.name}` } = found.config as LoaderTarget; // its schema has checked it
    return { row: loaderBinding, config: { id } satisfies LoaderTarget };
  }
  return { row: functionBinding, config: target(caller, service, place) };
}

/** @throws TypeError, EdgeError EDGE_NOT_SUPPORTED */
function target({ options, isLoaded }: LoadingFunction, service: PassedService, place: string): ServiceTarget {
  if ('b' in service) {
    const found = options.bindings.find(({ name }) => name === service.b);
    if (found?.row !== functionBinding) {
      throw new TypeError(
        `The ${place} of the loaded code names ${describe(service.b)}, which is no service binding of the function`,
      );
    }
    const config = found.config as string | ServiceTarget; // its schema has checked it
    return typeof config === 'string' ? { function: config } : config;
  }
  if (isLoaded) {
    throw new EdgeError(
      'EDGE_NOT_SUPPORTED',
      `The ${place} of the loaded code has an entrypoint of a function that was loaded itself: pass on a service of its env`,
    );
  }
  return { function: options.name, ...checkEntrypoint(service.e, service.p) };
}
