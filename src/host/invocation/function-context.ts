/** The context that all invocations of one function share: its limits, its services, and the receivers of its logs and outcomes. */
import type { FunctionContext } from '../../bindings/binding.js';
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import { EgressPolicy } from '../../bindings/egress/rules/egress-policy.js';
import type { RefusalListener } from '../../bindings/egress/rules/refusals.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import { loaderBinding } from '../../bindings/loader/loader-binding.js';
import { OUTBOUND } from '../../bindings/loader/wire.js';
import type { LoadHead } from '../../protocol/messages.js';
import type { ColdStarts } from '../../quotas/cold-starts.js';
import type { CpuTokenBucket } from '../../quotas/cpu-token-bucket.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { AccountHost } from '../account-host.js';
import type { InvocationOutcome } from '../events.js';
import type { ResolvedLoadOptions } from '../options/options.js';
import type { FunctionRunner } from './function-runner.js';
import type { FunctionStats } from './function-stats.js';
import type { InvocationContext } from './invocation-context.js';

/** Outcomes of invocations that may have ended with their isolate. */
const LOST: ReadonlySet<InvocationOutcome> = new Set(['exceededCpu', 'exceededMemory', 'isolateLost']);

/** The parts of a function that another one has loaded. */
export interface LoadedParts {
  /** In place of the rules of the account and of its own. */
  readonly egress: CompiledRules | undefined;
  /** The functions that watch it. */
  readonly tails: readonly ServiceTarget[];
  readonly head: Pick<LoadHead, 'loaded'>;
  /** An isolate of it is gone. */
  onGone(): void;
}

export interface FunctionParts {
  readonly account: string;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
  readonly options: ResolvedLoadOptions;
  readonly version: string;
  readonly limits: ResolvedLimits;
  readonly egress: CompiledRules | undefined;
  readonly stats: FunctionStats;
  readonly cpuTokens: CpuTokenBucket;
  readonly coldStarts: ColdStarts;
  /** The version itself. */
  readonly self: () => FunctionRunner;
  /** Set when another function has loaded it. */
  readonly loaded?: LoadedParts | undefined;
  /** Answers requests of the function for its own static files. */
  readonly fetchAsset: FunctionContext['fetchAsset'];
}

export function functionContext(host: AccountHost, parts: FunctionParts): InvocationContext {
  const { account, options, version, limits, egress, stats, cpuTokens, coldStarts, self, loaded } = parts;
  const checkUrl = urlCheck(host, options);
  const described = {
    account,
    function: options.name,
    limits,
    props: options.props,
    compatibility: { date: options.compatibilityDate, flags: options.compatibilityFlags },
    ...(loaded !== undefined && { hasCaches: false }),
  };
  const onRefusal: RefusalListener = (refusal, unreported, origin) =>
    host.emitEgress({ account, function: options.name, invocation: origin?.invocation, ...refusal, unreported });
  const services = host.bindings.services(
    {
      ...described,
      check: parts.check,
      given: { bodies: host.bodies, of: `function "${options.name}" of account "${account}"` },
      checkUrl,
      localOf: (url, origin) => host.localSend(account, url, origin),
      egress: egress && new EgressPolicy(egress, onRefusal),
      callFunction: host.callFunction(account),
      callObject: host.callObject(account),
      objectSockets: host.objectSockets(account, options.name),
      callOwn: host.callOwn(self),
      callLoader: loaderOf(host, parts),
      fetchAsset: parts.fetchAsset,
    },
    options.bindings.filter(({ row }) => host.bindings.isHere(row)),
  );
  const remote = host.remote?.bind(
    {
      ...described,
      bounds: host.share.limits,
      egress,
      bindings: options.bindings.map(({ row, name, config }) => ({
        option: row.option,
        name,
        config: host.bindings.isHere(row) ? undefined : config,
      })),
    },
    { services, checkUrl, onRefusal },
  );
  const usage = host.functionUsage(options.name);
  stats.addTimesTo(host.stats);
  return {
    account,
    function: options.name,
    version,
    limits,
    services,
    remote,
    share: host.share,
    idleHttpMs: host.idleHttpMs,
    bodies: host.bodies,
    cpuGrant: limitMs => cpuTokens.grant(limitMs),
    callers: options.callers,
    requests: () => host.admission.counted(account),
    emitLog: event => host.emitLog(event),
    tails: host.tails.of(options.tails, loaded?.tails),
    connectionSlotRelease: host.connectionSlotRelease,
    admitAsset: address =>
      limits.addressRequestsPerSecond === Number.POSITIVE_INFINITY
        ? undefined
        : host.admission.checkAddress(account, limits, address),
    admit: (mode, address) => host.admission.check({ account, limits, mode, address }),
    onFronted: (answer, bytes) => usage?.addFronted(answer, bytes),
    onFrontedBytes: bytes => usage?.addFrontedBytes(bytes),
    isReportHeard: () => host.wantsInvocations(),
    onFinished: (outcome, used, event, trace) => {
      const { kind, cpuMs } = used;
      // The isolate keeps the same account of its CPU time; this one is for the isolate that replaces it.
      const limitMs = limits.cpuMs[kind];
      // The usage of an invocation that was ended with its isolate is not always known: it leaves nothing for others.
      if (Number.isFinite(limitMs)) cpuTokens.charge(LOST.has(outcome) ? Math.max(cpuMs, limitMs) : cpuMs, limitMs);
      coldStarts.finished(cpuMs <= limitMs && !LOST.has(outcome));
      stats.record(outcome, used);
      usage?.add(outcome, used);
      if (host.wantsInvocations()) host.emitInvocation(event(), trace);
      else if (outcome !== 'ok' && outcome !== 'canceled') host.noteUnheard(options.name);
    },
  };
}

/** Undefined for a function without a loader. */
function loaderOf(
  host: AccountHost,
  { options, limits, egress, loaded }: FunctionParts,
): FunctionContext['callLoader'] {
  if (!options.bindings.some(({ row }) => row === loaderBinding)) return undefined;
  const outbound = options.bindings.find(({ name }) => name === OUTBOUND)?.config as ServiceTarget | undefined; // a loader has put it there
  return host.callLoader({
    loaders: host.loaders,
    options,
    limits,
    egress,
    isLoaded: loaded !== undefined,
    outbound: loaded === undefined ? undefined : outbound,
  });
}

/** A function may not fetch another function of the same zone by URL without a service binding, and it has no such binding (specification: Errors). */
function urlCheck(host: AccountHost, { routes }: ResolvedLoadOptions): (url: URL) => void {
  // A route of any host is in no zone.
  const zones = new Set(routes.map(route => route.zone).filter(zone => zone !== ''));
  return url => {
    const route = host.router.find(url.host, url.pathname);
    if (route === undefined || route.customDomain || !zones.has(route.zone)) return;
    throw new EdgeError(
      'EDGE_EGRESS_DENIED',
      `Cannot fetch ${url.host}${url.pathname}: function "${route.target.context.function}" serves it on the same zone, and there is no service binding to it; give it a custom domain (option customDomain of its route)`,
    );
  };
}
