/** The management API of a host: a fetch handler and a listener over the tables of routes, schemas, codes and dates. */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import PQueue from 'p-queue';
import type { DirectoryOf } from '../bindings/binding.js';
import { type ClientBodies, UNTIMED } from '../bindings/bodies/given-bodies.js';
import { type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import type { NameOwners } from '../hostnames/name-owners.js';
import { EdgeError } from '../quotas/errors.js';
import { detached } from '../quotas/guarded.js';
import { dateClock } from '../quotas/option-functions.js';
import { givenOf } from '../quotas/schema/check-options.js';
import type { KeyStore } from '../storage/files/key-file.js';
import type { Locks } from '../storage/records/keyed-mutex.js';
import type { ManagementParts } from './context.js';
import { isFinished, Schedule, type ScheduleOverrides } from './deprecations/deprecation-timeline.js';
import { FAMILY_IDS, isFamilyId } from './deprecations/deprecations.js';
import { nodeListener } from './http/node-listener.js';
import { ApiRouter } from './http/router.js';
import { type ManagementLimits, resolveLimits } from './limits.js';
import { openapiDocument } from './openapi.js';
import { type DatePin, Pipeline } from './pipeline.js';
import type { FamilyHandlers, FunctionPort } from './ports.js';
import { RATE_LIMIT_DEFAULTS, type RateLimitOptions } from './rate-limit-options.js';
import { RateLimits } from './rate-limits.js';
import type { ApiRoute } from './route.js';
import { allRoutes, schemasOf } from './routes.js';
import { AuditLog } from './state/audit-log.js';
import { FollowChanges } from './state/follow-changes.js';
import { FunctionStore } from './state/function-store.js';
import { commit, type ManagementStorage } from './state/records.js';
import { checkKey, SecretCipher } from './state/secret-cipher.js';
import { openSecrets } from './state/secrets-key.js';
import { ServingFunctions } from './state/serving-functions.js';
import { Stores } from './state/stores.js';
import { type ConfiguredToken, checkPermissions, type TokenRecord, Tokens } from './state/tokens.js';
import { CompressionSettings } from './zone-compression.js';
import { ZoneOwners, type ZoneOwnership } from './zone-owners.js';
import { resolveZoneSettings, type ZoneSettingDefinition } from './zone-settings.js';

export interface ManagementOptions {
  /** A Level database, or a sublevel that nothing else writes to. It is the caller's to open and to close. */
  readonly storage: ManagementStorage;
  readonly functions: FunctionPort;
  /** Returns the directory of an account that `functions.hasAccount` knows. */
  readonly directoryOf: DirectoryOf;
  /** @default the bindings of the package */
  readonly bindings?: BindingRegistry;
  /** The host names of all accounts. */
  readonly names: NameOwners;
  /**
   * Whether an account may have a zone: asked when a token of that account makes one that is not in the account's option `zones`. Tokens
   * for all accounts (`'*'`) are not asked.
   * @default such zones are refused
   */
  readonly zoneOwnership?: ZoneOwnership;
  /**
   * Tokens besides those that the API makes itself.
   * @default none: every request is refused until `issueToken` has made one
   */
  readonly tokens?: readonly ConfiguredToken[];
  /** The clock of the schedule, of expiry and of every date that is stored. @default () => new Date() */
  readonly now?: () => Date;
  /** Path in front of every route, such as `/client/v4`; where a framework mounts the listener, its mount path. @default '' */
  readonly basePath?: string;
  /** Dates that replace the specification's: schedules slip. */
  readonly schedule?: ScheduleOverrides;
  /**
   * Whether a request may be answered as on another date by the header `Edge-Api-Date: YYYY-MM-DD`: `ahead` takes today and later, for testing clients ahead of
   * time; `any` also brings back removed routes and fields.
   * @default 'off'
   */
  readonly datePin?: DatePin;
  /** Handlers for the deprecated families whose payloads the specification does not show. Without: 501, then 410. */
  readonly families?: FamilyHandlers;
  /** Zone settings of this host by name, besides the five that the schedule ends. */
  readonly zoneSettings?: Readonly<Record<string, ZoneSettingDefinition>>;
  readonly limits?: Partial<ManagementLimits>;
  readonly rateLimit?: Partial<RateLimitOptions>;
  /**
   * 32 bytes: secrets of functions are stored under AES-256-GCM with this key.
   * @default a random one, kept in the file `secrets.key` of the storage directory
   */
  readonly secretsKey?: Uint8Array;
  /** Where that random key is kept. @default in memory: secrets open for as long as this API lives */
  readonly keyStore?: KeyStore;
  /**
   * Gets every error that was answered as 8000, Internal error. An exception of it is thrown outside of the host, as for listeners of events.
   * @default nothing is done
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Reports what other processes write into the storage, which is put into force here too: keys of the storage, or undefined when it is not known which.
   * @default no other process does
   */
  readonly listen?: (listener: (keys: readonly string[] | undefined) => void) => void;
  /** Locks that all processes on the storage share. @default the locks of this API */
  readonly locks?: Locks;
  /** Called for zones and routes that are stored and do not serve. @default nothing is done */
  readonly onWarning?: (error: Error) => void;
  /** How answer bodies are handed to the caller of `fetch`. @default without a time limit for reading them */
  readonly given?: ClientBodies;
}

export interface RequestInfo {
  /** The address of the client, for the audit log and for counting failed authentications. */
  readonly clientAddress?: string;
}

export interface RestoreReport {
  readonly restored: number;
  readonly failed: readonly { readonly account: string; readonly name: string; readonly error: unknown }[];
}

export interface Management {
  /** Answers one request; never rejects. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /** For `http.createServer`, or `app.use` of frameworks on top of it. */
  listener(): (request: IncomingMessage, response: ServerResponse) => void;
  /** Lets the host load every stored function again, one after the other, after a restart. One that fails is reported and kept. */
  restore(): Promise<RestoreReport>;
  /** Takes the names of the stored zones, and finds the key of the secrets; to be awaited before anything is answered. */
  start(): Promise<void>;
  /** A token of an account (or of all, `'*'`); `value` is its text and is not kept. */
  issueToken(
    spec: Pick<TokenRecord, 'name' | 'account' | 'permissions'> & { readonly expiresOn?: Date },
  ): Promise<{ readonly id: string; readonly value: string }>;
  /** Revokes a token that the API or `issueToken` made. */
  revokeToken(id: string): Promise<void>;
  /** The OpenAPI 3.1 document as of a date. @default now */
  openapi(at?: Date): unknown;
  readonly routes: readonly ApiRoute[];
  readonly schedule: Schedule;
}

/** @throws RangeError for an option that is out of its bounds */
export function createManagement(options: ManagementOptions): Management {
  const bindings = options.bindings ?? REGISTRY;
  const now = dateClock('now of management()', options.now ?? (() => new Date()));
  const basePath = checkBasePath(options.basePath ?? '');
  const limits = resolveLimits(options.limits);
  const schedule = new Schedule(options.schedule);
  const routes = allRoutes(schedule);
  const schemas = schemasOf(bindings);
  const stores = new Stores(options.storage, options.locks);
  const tokens = new Tokens(options.tokens ?? [], stores.tokens);
  const audit = new AuditLog(stores.audit);
  const given = options.secretsKey === undefined ? undefined : checkKey(options.secretsKey);
  const cipher = new SecretCipher(given ?? new Uint8Array(randomBytes(32)));
  const onWarning = options.onWarning ?? (() => {});
  const zoneOwners = new ZoneOwners(options.names, options.zoneOwnership, onWarning);
  const compression = new CompressionSettings({ owners: zoneOwners, schedule, functions: options.functions, now });
  const serving = new ServingFunctions(options.functions);
  const functionStore = new FunctionStore({
    stores,
    port: serving,
    cipher,
    owners: zoneOwners,
    versionsKept: limits.versionsKept,
    bindings,
  });
  const follow = new FollowChanges({
    stores,
    functionStore,
    serving,
    zoneOwners,
    compression,
    hasAccount: account => options.functions.hasAccount(account),
    onWarning,
  });
  const documents = new Map<string, string>();

  const services: ManagementParts = {
    stores,
    tokens,
    audit,
    schedule,
    functions: options.functions,
    functionStore,
    bindings,
    schemas,
    directoryOf: options.directoryOf,
    limits,
    zoneOwners,
    zoneSettings: resolveZoneSettings(options.zoneSettings),
    compression,
    families: checkFamilies(options.families ?? {}),
    uploads: new PQueue({ concurrency: limits.uploadsAtOnce }),
    now,
    openapi: documentText,
  };
  const pipeline = new Pipeline({
    services,
    router: new ApiRouter(routes, basePath),
    rateLimits: new RateLimits({ ...RATE_LIMIT_DEFAULTS, ...givenOf(options.rateLimit ?? {}) }),
    basePath,
    datePin: options.datePin ?? 'off',
    onError: options.onError ?? (() => {}),
    given: options.given ?? UNTIMED,
  });
  const fetch = (request: Request, info: RequestInfo = {}) => pipeline.answer(request, info.clientAddress ?? null);

  return {
    fetch,
    listener: () => nodeListener(fetch),
    restore,
    async start() {
      await zoneOwners.claimStored(stores);
      await compression.restore(stores);
      const { keyStore, listen } = options;
      if (keyStore !== undefined)
        await stores.lock.run('secrets-key', () => openSecrets({ stores, cipher, given, keyStore, onWarning }));
      if (listen === undefined) return;
      await follow.start();
      listen(keys => detached(follow.changed(keys)));
      // Follows changes that were written since the zones were read.
      detached(follow.changed(undefined));
    },
    async issueToken({ expiresOn, ...spec }) {
      checkPermissions(spec.name, spec.permissions);
      const expires_on = expiresOn?.toISOString() ?? null;
      const { record, value, write } = tokens.prepare({ ...spec, expires_on }, now());
      await commit(stores.storage, [
        write,
        byHost(record.account, 'POST', `/accounts/${record.account}/tokens`, 'token-create'),
      ]);
      return { id: record.id, value };
    },
    async revokeToken(id) {
      const account = (await stores.tokens.get(id))?.value.account;
      if (account === undefined) throw new RangeError(`There is no token ${JSON.stringify(id)}`);
      await commit(stores.storage, [
        stores.tokens.del(id),
        byHost(account, 'DELETE', `/accounts/${account}/tokens/${id}`, 'token-revoke'),
      ]);
    },
    openapi: (at = now()) => JSON.parse(documentText(at.getTime())),
    routes,
    schedule,
  };

  /** Differs only by which rows are over, so there are no more texts than dates. */
  function documentText(at: number): string {
    const key = schedule.rows.map(row => (isFinished(row, at) ? '1' : '0')).join('');
    const text = documents.get(key) ?? JSON.stringify(openapiDocument({ schemas, routes, schedule, basePath, at }));
    documents.set(key, text);
    return text;
  }

  async function restore(): Promise<RestoreReport> {
    let restored = 0;
    follow.servesAll = true;
    const failed: { account: string; name: string; error: unknown }[] = [];
    for await (const { account, name, load } of functionStore.stored()) {
      try {
        await serving.activate(await load(), { isStored: true });
        restored += 1;
        for (const refused of await functionStore.refusedRoutes(account, name))
          onWarning(new EdgeError('EDGE_ROUTE_TAKEN', refused));
      } catch (error) {
        failed.push({ account, name, error });
      }
    }
    return { restored, failed };
  }

  function byHost(account: string, method: string, path: string, route: string) {
    const actor = { token_id: 'host', token_name: 'host', address: null };
    return audit.append({ account, actor, action: { method, path, route, status: 200 } }, now());
  }
}

function checkFamilies(families: FamilyHandlers): FamilyHandlers {
  const unknown = Object.keys(families).find(id => !isFamilyId(id));
  if (unknown === undefined) return families;
  throw new TypeError(
    `Option families of management() has no key ${JSON.stringify(unknown)}; its keys are ${FAMILY_IDS.join(', ')}`,
  );
}

function checkBasePath(path: string): string {
  if (path !== '' && !/^(\/[\w.~-]+)+$/.test(path)) {
    throw new RangeError(`basePath must be '' or begin with a slash and end without one, got ${JSON.stringify(path)}`);
  }
  return path;
}
