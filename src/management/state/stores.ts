/** Everything that the API keeps, by kind, and the shapes it is kept in. */

import type { EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import type { WrittenConsumer } from '../../config-schema/consumer-shapes.js';
import type { CronMissed, CronOverlap } from '../../config-schema/cron-trigger.js';
import type { RouteMode } from '../../quotas/requests/admission.js';
import { KeyedMutex, type Locks } from '../../storage/records/keyed-mutex.js';
import type { DnsRecord } from '../dns/record-types.js';
import type { ServiceBinding, VariableBinding } from '../function-schemas.js';
import type { ModuleType, UsageModel } from '../ports.js';
import type { AuditEntry } from './audit-log.js';
import { Contents, type ManagementStorage, Records } from './records.js';
import type { TokenRecord } from './tokens.js';

export interface ZoneRecord {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  /** Absent in zones of releases that did not ask for permission. */
  readonly approved_by?: 'owner' | 'callback' | 'declaration';
  readonly created_on: string;
  readonly modified_on: string;
}

export interface DnsSettings {
  readonly multi_provider: boolean;
  readonly secondary_overrides: boolean;
}

export interface RouteRecord {
  readonly id: string;
  readonly zone: string;
  readonly pattern: string;
  readonly function: string;
  readonly mode: RouteMode;
}

export interface FunctionRecord {
  readonly name: string;
  readonly created_on: string;
  readonly modified_on: string;
  readonly version_id: string;
  readonly deployment_id: string;
  readonly next_version: number;
  readonly crons: readonly ScheduleRecord[];
  /** Absent in records of earlier releases. */
  readonly consumers?: readonly WrittenConsumer[];
}

/** Absent properties have their defaults. */
export interface ScheduleRecord {
  readonly cron: string;
  readonly missed?: CronMissed;
  readonly overlap?: CronOverlap;
  readonly jitter_ms?: number;
  readonly created_on: string;
}

export interface VersionRecord {
  readonly id: string;
  /** Counts up from 1 in the function. */
  readonly number: number;
  readonly created_on: string;
  readonly main: string;
  readonly modules: readonly { readonly name: string; readonly type: ModuleType; readonly size: number }[];
  /** The version whose upload brought the modules: a change of settings makes a version without new content. */
  readonly content_id: string;
  /** SHA-256 over the names and contents of the modules, hex. */
  readonly hash: string;
  readonly startup_time_ms: number;
  readonly compatibility_date: string | null;
  readonly compatibility_flags: readonly string[];
  /** Without secrets: those are the function's, not the version's. */
  readonly bindings: readonly (VariableBinding | ServiceBinding)[];
  readonly limits: { readonly cpu_ms?: number };
  readonly usage_model: UsageModel | null;
  /** Absent in records of earlier releases. */
  readonly tail_consumers?: readonly { readonly service: string }[];
  /** Absent where the hosts of the account are the function's. */
  readonly egress?: Pick<EgressRules, 'hosts'>;
  readonly message: string | null;
}

export interface DeploymentRecord {
  readonly id: string;
  readonly created_on: string;
  readonly version_id: string;
  readonly startup_time_ms: number;
  readonly message: string | null;
}

export interface SecretRecord {
  readonly name: string;
  readonly sealed: string;
  readonly modified_on: string;
}

export interface SecretsKeyRecord {
  /** Identifies the key that secrets are sealed with. */
  readonly fingerprint: string;
  /** Whether the owner gave it, or it is in the key's file. */
  readonly source: 'option' | 'file';
  /** Whether no secret is left that is not sealed with it. */
  readonly isSealed: boolean;
}

export class Stores {
  readonly storage: ManagementStorage;
  /** Locks for writes, shared by all processes on the storage. */
  readonly lock: Locks;
  /** Serializes the work of this process for one account. */
  readonly ownLock = new KeyedMutex();

  /** zone id */
  readonly zones: Records<ZoneRecord>;
  /** zone name: names are unique in a host */
  readonly zoneNames: Records<{ readonly id: string }>;
  /** zone id, record id */
  readonly dnsRecords: Records<DnsRecord>;
  /** zone id, name, record id: what shares a name, to find conflicts without reading the zone */
  readonly dnsNames: Records<Pick<DnsRecord, 'id' | 'type' | 'content' | 'priority'>>;
  /** zone id */
  readonly dnsSettings: Records<DnsSettings>;
  /** zone id, setting */
  readonly zoneSettings: Records<{ readonly value: unknown; readonly modified_on: string }>;
  /** zone id, route id */
  readonly routes: Records<RouteRecord>;
  /** zone id, encoded pattern: patterns are unique in a zone */
  readonly routePatterns: Records<{ readonly id: string }>;
  /** account, function, route id */
  readonly functionRoutes: Records<RouteRecord>;
  /** account, function */
  readonly functions: Records<FunctionRecord>;
  /** account, function, version id */
  readonly versions: Records<VersionRecord>;
  /** account, function, deployment id */
  readonly deployments: Records<DeploymentRecord>;
  /** account, function, secret */
  readonly secrets: Records<SecretRecord>;
  /** Settings of the API itself: `secrets-key`. */
  readonly settings: Records<SecretsKeyRecord>;
  /** account, function, version id, index of the module */
  readonly contents: Contents;
  /** token id */
  readonly tokens: Records<TokenRecord>;
  /** account, entry id */
  readonly audit: Records<AuditEntry>;

  constructor(storage: ManagementStorage, lock: Locks = new KeyedMutex()) {
    this.storage = storage;
    this.lock = lock;
    this.zones = new Records(storage, 'zones');
    this.zoneNames = new Records(storage, 'zone-names');
    this.dnsRecords = new Records(storage, 'dns-records');
    this.dnsNames = new Records(storage, 'dns-names');
    this.dnsSettings = new Records(storage, 'dns-settings');
    this.zoneSettings = new Records(storage, 'zone-settings');
    this.routes = new Records(storage, 'routes');
    this.routePatterns = new Records(storage, 'route-patterns');
    this.functionRoutes = new Records(storage, 'function-routes');
    this.functions = new Records(storage, 'functions');
    this.versions = new Records(storage, 'versions');
    this.deployments = new Records(storage, 'deployments');
    this.secrets = new Records(storage, 'secrets');
    this.settings = new Records(storage, 'settings');
    this.contents = new Contents(storage, 'contents');
    this.tokens = new Records(storage, 'tokens');
    this.audit = new Records(storage, 'audit');
  }
}
