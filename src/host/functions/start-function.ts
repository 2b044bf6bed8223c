/** Compiles a deployment and starts it in an isolate, up to where it could serve: what load() and check() have in common. */

import { createHash } from 'node:crypto';
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import type { EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import { queueBinding } from '../../bindings/queue/queue-binding.js';
import { compileRules, egressVariables, placeholdersOf } from '../../config-schema/compile-egress.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { ColdStarts } from '../../quotas/cold-starts.js';
import { CpuTokenBucket } from '../../quotas/cpu-token-bucket.js';
import { checkDeployment } from '../../quotas/deployment-checks.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { AccountHost } from '../account-host.js';
import type { AccountLimits, LimitsAuthor } from '../account-limits.js';
import type { AssetSite } from '../assets/asset-site.js';
import type { AccountCells } from '../cells/account-cells.js';
import { checkHandlers, checkWeekdays } from '../deploy/check-handlers.js';
import { readDeployment, type ScriptSource } from '../deploy/deployment.js';
import { KeptBody } from '../deploy/kept-body.js';
import { loadHead } from '../deploy/load-head.js';
import { scanModules } from '../deploy/scan-modules.js';
import { functionContext, type LoadedParts } from '../invocation/function-context.js';
import { FunctionRunner } from '../invocation/function-runner.js';
import { FunctionStats } from '../invocation/function-stats.js';
import type { ResolvedLoadOptions } from '../options/options.js';
import { fetchAsset } from '../rpc/asset-fetch.js';
import type { LoadedFunctions, StartedFunction } from './loaded-functions.js';

/** The parts of an account that one of its functions starts with. */
export interface StartingAccount {
  readonly id: string;
  readonly limits: Pick<AccountLimits, 'of' | 'own' | 'most'>;
  /** The rules that the account has when it is called. */
  readonly egress: () => EgressRules | undefined;
  readonly supervisor: AccountCells;
  readonly functions: Pick<LoadedFunctions, 'checkCounts' | 'checkNames'> & Partial<Pick<LoadedFunctions, 'runnerOf'>>;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
  /** Resolves when the function of this name may start. */
  readonly mayStart: (name: string, runner: FunctionRunner) => Promise<void>;
  /** Set when another function loads it. */
  readonly loaded?: LoadedParts;
}

/** The author of the limits is named among the options. Rejects as `account.load()` does; the function serves nothing yet. */
export async function startFunction(
  host: AccountHost,
  account: StartingAccount,
  author: LimitsAuthor,
  source: ScriptSource | undefined,
  options: ResolvedLoadOptions,
): Promise<StartedFunction> {
  await host.namesKnown();
  account.functions.checkNames(options);
  checkAssets(options, source !== undefined);
  const deployment = readDeployment(source ?? (options.assets && NO_SCRIPT), options.name);
  const limits = account.limits.of(options, author, message =>
    host.warn(new EdgeError('EDGE_CONFIG_INVALID', message)),
  );
  await checkDeployment(
    {
      name: options.name,
      modules: [deployment.body],
      vars: options.vars,
      secrets: { ...options.secrets, ...egressVariables(options.egress) },
      bindings: options.bindings.map(binding => binding.name),
    },
    limits,
  );
  account.functions.checkCounts(options, limits);
  checkMemory(account, options.name, limits);
  const modules = await scanModules(deployment, host.share);
  const site = await openAssets(host, account, options, limits, source !== undefined);
  const stats = new FunctionStats();
  const version = versionOf(deployment.version, site);
  const parts = { account: account.id, check: account.check, options, version, stats };
  const body = new KeptBody(deployment.body, host.share);
  const runnerWith = (own: ResolvedLimits): FunctionRunner => {
    const cpuTokens = new CpuTokenBucket({ overrunMs: own.cpuOverrunMs });
    const coldStarts = new ColdStarts();
    const { loaded } = account;
    const egress = loaded === undefined ? rulesOf(account, options) : loaded.egress;
    const self = (): FunctionRunner => made;
    const made: FunctionRunner = new FunctionRunner({
      context: functionContext(host, {
        ...parts,
        limits: own,
        egress,
        cpuTokens,
        coldStarts,
        self,
        loaded,
        fetchAsset: site && (call => fetchAsset(site, own, call)),
      }),
      assets: site,
      body,
      head: () => ({
        ...loaded?.head,
        ...loadHead({
          account: account.id,
          options,
          placeholders: loaded === undefined ? placeholdersOf(egress) : {},
          modules,
          limits: own,
          cpuBalanceMs: cpuTokens.balanceMs,
          isCold: coldStarts.begins(performance.now()),
        }),
      }),
      endedInPeace: () => coldStarts.endedInPeace(),
      ...(loaded !== undefined && { onGone: () => loaded.onGone() }),
      cache: host.cache,
      // The process and its connections serve other calls as well.
      acquire: (signal, isNew) =>
        withoutCaller(() =>
          host.gate.acquire(signal, account.id, () => account.supervisor.acquire(), { isPatient: isNew }),
        ),
    });
    return made;
  };
  let runner: FunctionRunner;
  try {
    runner = runnerWith(limits);
  } catch (error) {
    site?.release();
    throw error;
  }
  if (site !== undefined) releaseWithLast(runner, site);
  try {
    checkWeekdays(`load function "${options.name}"`, options.crons, options.compatibilityFlags);
    if (options.crons.length > 0) await host.crons.prepare();
    // Now and not with the first request: a storage that is unavailable, or a name that is not valid.
    await host.bindings.prepare(
      { account: account.id, limits: account.limits.own },
      options.bindings.filter(({ row }) => host.bindings.isHere(row)),
    );
    host.queueDispatcher.check({ account: account.id, name: options.name }, options.consumers);
    for (const { queue, deadLetterQueue = queue } of options.consumers) {
      for (const name of [queue, deadLetterQueue]) await host.bindings.directoryOf(queueBinding, account.id).open(name);
    }
    await runner.context.remote?.ready;
    // The day's count continues over a restart.
    if (Number.isFinite(limits.requestsPerDay) || Number.isFinite(limits.requestsPerMinute))
      await host.admission.attach(account.id);
    await account.mayStart(options.name, runner);
    if (source === undefined) runner.standIn();
    else await runner.load();
    checkHandlers(`load function "${options.name}"`, runner.handlers, options);
  } catch (error) {
    runner.retire();
    throw error;
  }
  return { runner, options, stats, author, again: own => runnerWith(own).resume(runner) };
}

function rulesOf({ id, egress }: StartingAccount, options: ResolvedLoadOptions): CompiledRules | undefined {
  return compileRules(
    { rules: egress(), owner: `account "${id}"` },
    { rules: options.egress, owner: `function "${options.name}"` },
    namesIn(options),
  );
}

/** Answers what reaches no file: requests for WebSockets, and events. */
const NO_SCRIPT = 'export default { fetch() { return new Response(null, { status: 404 }); } };';

/** @throws TypeError for what only a script could use */
function checkAssets({ name, assets }: ResolvedLoadOptions, hasScript: boolean): void {
  if (hasScript || assets === undefined) return;
  const { binding, runWorkerFirst } = assets;
  if (binding !== undefined)
    throw new TypeError(
      `Option assets.binding of function "${name}" is ${JSON.stringify(binding)}, and the function has no script that could use it`,
    );
  if (runWorkerFirst !== undefined && runWorkerFirst !== false)
    throw new TypeError(
      `Option assets.runWorkerFirst of function "${name}" is ${JSON.stringify(runWorkerFirst)}, and the function has no script that could run`,
    );
}

/** The static files, and the code that serves them: a function without any does not even load the code. */
async function openAssets(
  host: AccountHost,
  account: StartingAccount,
  { name, assets, compatibilityDate: date, compatibilityFlags: flags }: ResolvedLoadOptions,
  limits: ResolvedLimits,
  hasScript: boolean,
): Promise<AssetSite | undefined> {
  if (assets === undefined) return undefined;
  const { openSite } = await import('../assets/open-site.js');
  return openSite({
    assets,
    name,
    hasScript,
    share: host.share,
    limits,
    compatibility: { date, flags },
    previous: account.functions.runnerOf?.(name)?.assets,
    warn: error => host.warn(error),
  });
}

/** The index is held as long as a runner of the version serves: another runner of it, with other limits, may follow. */
function releaseWithLast(runner: FunctionRunner, site: AssetSite): void {
  runner.whenRetired(successor => {
    if (successor instanceof EdgeError || successor.assets !== site) site.release();
    else releaseWithLast(successor, site);
  });
}

function versionOf(version: string, site: AssetSite | undefined): string {
  if (site === undefined) return version;
  const hash = createHash('sha256').update(`${version}\n${site.digest}`);
  return hash.digest('hex').slice(0, version.length);
}

/** The names in the environment besides the secrets of the option `egress`. */
function namesIn({ bindings, vars, secrets }: ResolvedLoadOptions): ReadonlySet<string> {
  return new Set([...bindings.map(({ name }) => name), ...Object.keys(vars), ...Object.keys(secrets)]);
}

/** The heap of an isolate is bounded when its thread starts, before it is known which function it will run. */
function checkMemory(account: StartingAccount, name: string, { memoryBytes }: ResolvedLimits): void {
  const most = account.limits.most.memoryBytes;
  if (memoryBytes <= most) return;
  throw new RangeError(
    `Option limits.memoryBytes of function "${name}" is ${memoryBytes}, the isolates of account "${account.id}" have ${most}: give the account or the host so much`,
  );
}
