/**
 * Functions as they are kept: versions with their modules, secrets, triggers; and the one way to change what serves. The host takes a change first (it parses
 * and runs the script), then the change is written; what cannot be written is taken back from the host. So a change that fails anywhere changes nothing.
 */

import { createHash, randomUUID } from 'node:crypto';
import type { BindingRegistry } from '../../bindings/registry.js';
import { configOfBinding, managementKeyOf } from '../../config-schema/binding-shapes.js';
import type { CronOptions } from '../../config-schema/cron-trigger.js';
import { isBindingName } from '../../quotas/binding-name.js';
import { isVariable, type ServiceBinding } from '../function-schemas.js';
import { ApiError } from '../http/envelope.js';
import type { DeployedBinding, FunctionDeployment, FunctionModule, FunctionTriggers } from '../ports.js';
import type { ZoneOwners } from '../zone-owners.js';
import type { RecordChange, Stored } from './records.js';
import type { SecretCipher } from './secret-cipher.js';
import type { ServingPort } from './serving-functions.js';
import type { FunctionRecord, ScheduleRecord, SecretRecord, Stores, VersionRecord } from './stores.js';

/** The configuration of a version, besides its modules. */
export type Configuration = Pick<
  VersionRecord,
  'compatibility_date' | 'compatibility_flags' | 'bindings' | 'limits' | 'usage_model' | 'tail_consumers' | 'egress'
>;

export interface Upload {
  readonly main: string;
  readonly modules: readonly FunctionModule[];
  readonly configuration: Configuration;
  readonly message: string | null;
}

export interface FunctionStoreParts {
  readonly stores: Stores;
  readonly port: ServingPort;
  readonly cipher: SecretCipher;
  readonly owners: ZoneOwners;
  readonly versionsKept: number;
  readonly bindings: BindingRegistry;
}

export class FunctionStore {
  readonly #stores: Stores;
  readonly #port: ServingPort;
  readonly #cipher: SecretCipher;
  readonly #owners: ZoneOwners;
  readonly #versionsKept: number;
  readonly #bindings: BindingRegistry;

  constructor({ stores, port, cipher, owners, versionsKept, bindings }: FunctionStoreParts) {
    this.#bindings = bindings;
    this.#stores = stores;
    this.#port = port;
    this.#cipher = cipher;
    this.#owners = owners;
    this.#versionsKept = versionsKept;
  }

  /** @throws ApiError NOT_FOUND */
  async get(account: string, name: string): Promise<Stored<FunctionRecord>> {
    const stored = await this.#stores.functions.get(account, name);
    if (stored === undefined) throw new ApiError('NOT_FOUND', `There is no function ${JSON.stringify(name)}`);
    return stored;
  }

  /** @throws ApiError NOT_FOUND */
  async version(account: string, name: string, id: string): Promise<VersionRecord> {
    const stored = await this.#stores.versions.get(account, name, id);
    if (stored === undefined)
      throw new ApiError('NOT_FOUND', `The function ${JSON.stringify(name)} has no version ${id}`);
    return stored.value;
  }

  /** One writer of a function at a time. */
  locked<T>(account: string, name: string, work: () => Promise<T>): Promise<T> {
    return this.#stores.lock.run(`function/${account}/${name}`, work);
  }

  /** A version as it would run; secrets as stored unless others are given. */
  async deployment(
    account: string,
    name: string,
    version: VersionRecord,
    given: { readonly modules?: readonly FunctionModule[]; readonly secrets?: ReadonlyMap<string, string> } = {},
  ): Promise<FunctionDeployment> {
    const secrets = given.secrets ?? (await this.secrets(account, name));
    const vars = new Map<string, unknown>();
    const bindings: DeployedBinding[] = [];
    const taken = new Set(secrets.keys());
    for (const binding of [...taken, ...version.bindings.map(each => each.name)]) {
      if (!isBindingName(binding)) {
        throw new ApiError(
          'BODY_INVALID',
          `The name ${JSON.stringify(binding)} of a binding or secret is not the name of a JavaScript variable`,
        );
      }
    }
    for (const binding of version.bindings) {
      if (taken.has(binding.name)) {
        throw new ApiError('BODY_INVALID', `Two bindings or secrets have the name ${JSON.stringify(binding.name)}`);
      }
      taken.add(binding.name);
      if (isVariable(binding)) vars.set(binding.name, binding.type === 'json' ? binding.json : binding.text);
      else bindings.push(this.#bound(binding));
    }
    const { cpu_ms: cpuMs } = version.limits;
    return {
      account,
      name,
      version: version.id,
      main: version.main,
      modules: given.modules ?? (await this.modules(account, name, version)),
      compatibilityDate: version.compatibility_date,
      compatibilityFlags: version.compatibility_flags,
      vars,
      secrets,
      bindings,
      limits: cpuMs === undefined ? {} : { cpuMs },
      usageModel: version.usage_model,
      tails: version.tail_consumers?.map(({ service }) => service) ?? [],
      egress: version.egress,
      triggers: await this.triggers(account, name),
    };
  }

  #bound(binding: ServiceBinding): DeployedBinding {
    const row = this.#bindings.named.find(({ managementType }) => managementType === binding.type);
    const key = row === undefined ? undefined : managementKeyOf(row);
    if (row === undefined || key === undefined)
      throw new ApiError('NOT_SUPPORTED', `This host has no bindings of type ${JSON.stringify(binding.type)}`);
    return { name: binding.name, option: row.option, config: configOfBinding(row, binding) };
  }

  async modules(account: string, name: string, version: VersionRecord): Promise<FunctionModule[]> {
    const modules: FunctionModule[] = [];
    for (const [index, module] of version.modules.entries()) {
      const content = await this.#stores.contents.get(account, name, version.content_id, String(index));
      if (content === undefined)
        throw new Error(`Module ${index} of version ${version.content_id} is not in the storage`);
      modules.push({ name: module.name, type: module.type, content });
    }
    return modules;
  }

  async secrets(account: string, name: string): Promise<Map<string, string>> {
    const secrets = new Map<string, string>();
    for await (const secret of this.#stores.secrets.below(account, name)) {
      secrets.set(secret.name, this.#cipher.open(secret.sealed, secretPlace(account, name, secret.name)));
    }
    return secrets;
  }

  /** Without routes whose names are another account's by now: they must not keep the function from serving. */
  async triggers(account: string, name: string): Promise<FunctionTriggers> {
    const routes: { pattern: string; mode: 'fail-open' | 'fail-closed' }[] = [];
    for await (const { pattern, mode } of this.#stores.functionRoutes.below(account, name)) {
      if (this.#owners.routeRefusal(account, pattern) === undefined) routes.push({ pattern, mode });
    }
    const stored = await this.#stores.functions.get(account, name);
    const consumers = stored?.value.consumers;
    const crons = stored?.value.crons.map(cronOfSchedule) ?? [];
    return { routes, crons, ...(consumers !== undefined && { consumers }) };
  }

  /** Why some routes of a function do not serve. */
  async refusedRoutes(account: string, name: string): Promise<string[]> {
    const refused: string[] = [];
    for await (const { pattern } of this.#stores.functionRoutes.below(account, name)) {
      const why = this.#owners.routeRefusal(account, pattern);
      if (why !== undefined) refused.push(`Route "${pattern}" of function "${name}" does not serve: ${why}`);
    }
    return refused;
  }

  putSecret(account: string, name: string, secret: string, text: string, now: Date): RecordChange {
    const sealed = this.#cipher.seal(text, secretPlace(account, name, secret));
    const record: SecretRecord = { name: secret, sealed, modified_on: now.toISOString() };
    return this.#stores.secrets.put([account, name, secret], record).operation;
  }

  /** A version record for an upload; its startup time is known once the host has run it. */
  draft(upload: Upload, number: number, now: Date): VersionRecord {
    const id = randomUUID();
    return {
      id,
      number,
      created_on: now.toISOString(),
      main: upload.main,
      modules: upload.modules.map(({ name, type, content }) => ({ name, type, size: content.byteLength })),
      content_id: id,
      hash: hashModules(upload.modules),
      startup_time_ms: 0,
      ...upload.configuration,
      message: upload.message,
    };
  }

  putContents(
    account: string,
    name: string,
    version: VersionRecord,
    modules: readonly FunctionModule[],
  ): RecordChange[] {
    return modules.map((module, index) =>
      this.#stores.contents.put([account, name, version.content_id, String(index)], module.content),
    );
  }

  /**
   * Lets the host take the deployment, then writes. When writing fails, the host gets the previous deployment back.
   * @param write gets the startup time that the host measured
   */
  async activate(
    deployment: FunctionDeployment,
    before: FunctionRecord | undefined,
    write: (startupTimeMs: number) => Promise<void>,
  ): Promise<number> {
    const { account, name } = deployment;
    // Read before anything changes: a disk that fails later must not keep the old version from coming back.
    const previous =
      before === undefined
        ? null
        : await this.deployment(account, name, await this.version(account, name, before.version_id));
    const { startupTimeMs } = await this.#port.activate(deployment);
    try {
      await write(startupTimeMs);
    } catch (error) {
      if (previous === null) await this.#port.remove(account, name);
      else await this.#port.activate(previous, { isStored: true });
      throw error;
    }
    return startupTimeMs;
  }

  /** Ends a function that is not stored any more. */
  remove(account: string, name: string): Promise<void> {
    return this.#port.remove(account, name);
  }

  /** The same as `activate` for triggers alone. */
  async setTriggers(
    account: string,
    name: string,
    triggers: FunctionTriggers,
    write: () => Promise<void>,
  ): Promise<void> {
    const previous = await this.triggers(account, name);
    await this.#port.setTriggers(account, name, triggers);
    try {
      await write();
    } catch (error) {
      await this.#port.setTriggers(account, name, { consumers: [], ...previous });
      throw error;
    }
  }

  /** The versions to delete so that, with one more, no more than the kept number remain; never one of `keep`. */
  async pruneVersions(account: string, name: string, keep: readonly string[]): Promise<RecordChange[]> {
    const versions: VersionRecord[] = [];
    for await (const version of this.#stores.versions.below(account, name)) versions.push(version);
    versions.sort((a, b) => a.number - b.number);
    const excess = versions.length + 1 - this.#versionsKept;
    const gone = excess > 0 ? versions.filter(version => !keep.includes(version.id)).slice(0, excess) : [];
    const contentsInUse = new Set(
      versions.filter(version => !gone.includes(version)).map(version => version.content_id),
    );
    const operations = gone.map(version => this.#stores.versions.del(account, name, version.id));
    for (const contentId of new Set(gone.map(version => version.content_id))) {
      if (contentsInUse.has(contentId) || keep.includes(contentId)) continue;
      operations.push(...(await this.#stores.contents.delBelow(account, name, contentId)));
    }
    return operations;
  }

  async pruneDeployments(account: string, name: string): Promise<RecordChange[]> {
    const deployments: { readonly id: string; readonly created_on: string }[] = [];
    for await (const deployment of this.#stores.deployments.below(account, name)) deployments.push(deployment);
    deployments.sort((a, b) => (a.created_on < b.created_on ? -1 : 1));
    const excess = deployments.length + 1 - this.#versionsKept;
    return deployments.slice(0, Math.max(0, excess)).map(({ id }) => this.#stores.deployments.del(account, name, id));
  }

  /** Every function with the version that serves, to be loaded again after a restart; one at a time in memory. */
  async *stored(): AsyncGenerator<{
    readonly account: string;
    readonly name: string;
    load(): Promise<FunctionDeployment>;
  }> {
    for await (const [key, { name, version_id }] of this.#stores.functions.entries()) {
      const account = key.slice(0, key.length - name.length - 1);
      yield {
        account,
        name,
        load: async () => this.deployment(account, name, await this.version(account, name, version_id)),
      };
    }
  }
}

function secretPlace(account: string, name: string, secret: string): string {
  return `${account}/${name}/${secret}`;
}

function hashModules(modules: readonly FunctionModule[]): string {
  const hash = createHash('sha256');
  for (const { name, type, content } of modules) {
    // Lengths keep two different sets of modules from reading the same.
    hash.update(`${name.length}:${name}${type}:${content.byteLength}:`).update(content);
  }
  return hash.digest('hex');
}

/** The trigger of a stored schedule: its text where there is nothing more to say of it. */
export function cronOfSchedule({
  cron,
  missed,
  overlap,
  jitter_ms: jitterMs,
}: Omit<ScheduleRecord, 'created_on'>): string | CronOptions {
  if (missed === undefined && overlap === undefined && jitterMs === undefined) return cron;
  return {
    cron,
    ...(missed !== undefined && { missed }),
    ...(overlap !== undefined && { overlap }),
    ...(jitterMs !== undefined && { jitterMs }),
  };
}
