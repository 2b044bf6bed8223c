/**
 * Defines a binding for the host: a service that functions call, and a row of the registry (registry.ts) that says how it is configured, what its calls count
 * as and what it shares. Everything around a binding reads the row: options, `edgehost.toml`, the management API, accounting.
 */

import type { NeededExport } from '../protocol/needed-export.js';
import type { AccountWork } from '../quotas/host/call-work.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import type { JsonSchema } from '../quotas/schema/schema.js';
import type { ServiceId, SubrequestKind } from '../quotas/service-calls.js';
import type { Storage } from '../storage/storage.js';
import type { StorageOwner } from '../storage/storage-owner.js';
import type { ClientBodies } from './bodies/given-bodies.js';
import type { DirectoryContract } from './contract.js';
import type { EgressPolicy } from './egress/rules/egress-policy.js';
import type { LocalSend } from './egress/transport.js';
import type { ServiceTarget } from './function/types.js';
import type { LoaderTarget } from './loader/types.js';
import type { ObjectsTarget } from './objects/types.js';
import type { CallOrigin, Service, ServiceCall, ServiceReply } from './service.js';

/** How the host treats the calls of one method. */
export interface BindingMethod {
  /** A call holds one of the connections of its invocation while it runs (specification: Limits, rule 7). @default false */
  readonly holdsConnection?: true;
  /**
   * The largest arguments, in bytes of JSON: compared before they are parsed. At most MAX_CALL_HEAD_BYTES.
   * @default CALL_HEAD_BYTES, 32 KiB
   */
  readonly headBytes?: number;
  /** A call changes nothing: it is retried when the backend process was lost during it. @default false */
  readonly isSafe?: true;
  /**
   * A call continues an earlier one, with which it was counted, and is no subrequest of its own. Its cost is charged as CPU time, which bounds needless calls.
   * @default false
   */
  readonly continues?: true;
  /** During the call, the connection of the earlier one counts as being used. @default false */
  readonly usesConnection?: true;
}

/** The parts of a host that bindings share while it lives. */
export interface BindingHost<Options = unknown> {
  /** The options of `new EdgeHost()`, checked, with their defaults. */
  readonly options: Options;
  /** The storage of the host, which opens with its first use. @throws EdgeError EDGE_CLOSED and the errors of Storage.open() */
  storage(): Promise<Storage>;
}

/** The account that a binding is opened for, as the binding uses it. */
export interface AccountContext<Shared = unknown> {
  readonly account: string;
  /**
   * The limits of the function that the binding is opened for. The application's own client has the limits of the account, which may differ from call to call.
   */
  readonly limits: ResolvedLimits;
  /** The result of the row's own `share`. */
  readonly shared: Shared;
  /** How the application's own client gives it bodies as streams. @default without a time to read them */
  readonly given?: ClientBodies;
  /** Charges the account for what the application's own client makes of bytes that functions have written. @default it is not charged */
  readonly work?: AccountWork;
  /** @throws EdgeError EDGE_ACCOUNT_REMOVED when the account is gone, though another one may have its id */
  check?(): void;
}

/** The function that a binding is opened for, as the binding uses it. */
export interface FunctionContext<Shared = unknown> extends AccountContext<Shared> {
  readonly function: string;
  readonly compatibility: {
    /** YYYY-MM-DD */
    readonly date: string;
    readonly flags: readonly string[];
  };
  /** The option `props` of load(). */
  readonly props: Readonly<Record<string, unknown>>;
  /** @throws EdgeError EDGE_EGRESS_DENIED for a URL that the function may not fetch, though the network would let it */
  checkUrl(url: URL): void;
  /**
   * The function of this host that answers the URL when the function fetches it, in place of the network.
   * @throws EdgeError EDGE_LOOP when functions have fetched each other too deeply
   */
  localOf?(url: URL, origin: CallOrigin | undefined): LocalSend | undefined;
  /** The rules of the function's option `egress`, for every service that opens connections for it. @default none */
  readonly egress?: EgressPolicy | undefined;
  /** The classes of stateful objects that the function exports; undefined where that is not known. */
  readonly objectClasses?: readonly string[] | undefined;
  /** Calls another function of the host: the target of a service binding or, without one, of a stub. */
  readonly callFunction?: (target: ServiceTarget | undefined, call: ServiceCall) => Promise<ServiceReply>;
  /** Calls a stateful object of the class; which one says the call. */
  readonly callObject?: (
    target: ObjectsTarget & { readonly function: string },
    call: ServiceCall,
  ) => Promise<ServiceReply>;
  /** Calls an entrypoint of the function itself; which one says the call. */
  readonly callOwn?: Service;
  /** Makes the loader of the binding with this name. Absent where a function cannot load code. */
  readonly callLoader?: ((binding: string, loader: LoaderTarget) => Service) | undefined;
  /** Whether the function has the caches of its account. @default true */
  readonly hasCaches?: boolean | undefined;
  /** Answers requests of the function for its own static files; undefined where it has none. */
  readonly fetchAsset?: ((call: ServiceCall) => Promise<ServiceReply>) | undefined;
  /** Answers what the function's stateful objects do with WebSockets that sleep. */
  readonly objectSockets?: (call: ServiceCall) => Promise<ServiceReply>;
}

/** A call of a stateful object that its answers wait for, or after which they wait for no earlier one. */
export interface ObjectStep {
  readonly className: string;
  readonly id: string;
  /** A new instance begins: the writes of earlier ones do not concern its answers. Otherwise the call is a write. */
  readonly isNew: boolean;
}

export interface BindingBase<Shared = unknown> {
  /** Its number on the wire. */
  readonly id: ServiceId;
  /** Its name in texts: 'bucket'. */
  readonly name: string;
  /** The kind of subrequest that a call counts as. */
  readonly subrequest: SubrequestKind;
  /** Methods that are missing are treated by the defaults; whether there is such a method is for the service to say. */
  readonly methods: Readonly<Record<string, BindingMethod>>;
  /**
   * Recognizes the calls that the answers of stateful objects wait for (src/guest/output-gate.ts); undefined for any other call. A function wrote both texts.
   * @default no answer waits for a call
   */
  readonly objectStep?: (method: string, argumentText: string) => ObjectStep | undefined;
  /** The service records its calls for OpenTelemetry itself. @default each call has a span by the name of the service */
  readonly tracesItself?: true;
  /** Its own part of the records, and the jobs for it while the storage is open. */
  readonly storage?: StorageOwner;
  /**
   * Whether calls are answered in the application where there is a backend process: those that need code of the application.
   * @default false
   */
  isInApplication?(options: unknown): boolean;
  /**
   * The contract by which a host with `backend: 'process'` uses an account's `shared.of(account)`, which is in the backend process.
   * @default the host does not use it
   */
  readonly directory?: DirectoryContract;
  /** Makes what all accounts of a host share. @throws TypeError or RangeError for an option of the host that is not what it must be */
  share?(host: BindingHost): Shared;
  /** Forgets everything shared for an account that was removed. */
  endAccount?(shared: Shared, account: string): void;
  /** Ends what `share` has made, with the host. */
  closeShared?(shared: Shared): Promise<void>;
  /**
   * Restores the error of this binding with the code and the message, in another process; undefined when the code belongs to another one. Codes are
   * numbers: callers in an isolate do not learn of errors with other codes.
   */
  errorFrom?(code: string | number, message: string): Error | undefined;
  /** The HTTP status of an error that is one of this binding; 500 for one that does not concern the caller. */
  errorStatus?(error: unknown): number | undefined;
}

/** The shared value of a row whose objects are administered beside functions: the directory of each account. */
export interface AccountDirectories<Directory> {
  of(account: string): Directory;
}

/** Returns the directory of an account, by the row. */
export type DirectoryOf = <Directory>(row: BindingBase<AccountDirectories<Directory>>, account: string) => Directory;

/** Returns the client of an account's binding for the application itself, by the row. */
export type ClientOf = <Config, Shared, Client extends object>(
  row: ClientRow<Config, Shared, Client>,
  account: string,
  config: Config,
) => Client;

/** A row whose binding the application itself may have a client of. */
export interface ClientRow<Config, Shared = unknown, Client extends object = object> extends BindingBase<Shared> {
  /**
   * The member of `Account` and `EdgeHost` that returns the client, in `BindingClients` of the registry: a method that takes the configuration, or a
   * getter without one.
   */
  readonly application?: string;
  /** Creates the client for the application itself. */
  client?(context: AccountContext<Shared>, config: Config): Client;
  /** The same in two halves, for a host whose services are in another process. Absent when its client needs more than a service there. */
  readonly remote?: RemoteClient<Config, Shared, Client>;
}

/** A service that every function has, without naming it. */
export interface ImplicitBinding<Shared = unknown, Client extends object = object>
  extends ClientRow<undefined, Shared, Client> {
  readonly implicit: true;
  /** Opens it for one function. */
  open(context: FunctionContext<Shared>): Service;
}

/** How `edgehost.toml` writes bindings: an array of tables, each with the keys `binding` and `nameKey`. `queues.producers` is a table in `queues`. */
export interface BindingTable {
  /** `store_buckets` */
  readonly table: string;
  /** The key of the configuration, `bucket_name`; in the bindings of the management API too, where the row has no `managementKey`. */
  readonly nameKey: string;
  /** A table without the key is a configuration, too: `configOf` gets undefined. @default false */
  readonly isNameOptional?: true;
  /** Another key that may be written in its place. */
  readonly otherNameKey?: string;
  /** Keys of texts that files of other platforms have and that mean nothing here. */
  readonly unusedKeys?: readonly string[];
  /** Keys beside it, each with its schema; optional ones end in `?`. The configuration is made of all of them then. */
  readonly more?: Readonly<Record<string, JsonSchema>>;
  /** The schema of the value of `nameKey`, where there are keys beside it. @default the schema of the configuration */
  readonly nameSchema?: JsonSchema;
  /** Makes the configuration from a checked table. `name` is the value of `nameKey`, or of the key that replaces it. @default the name */
  readonly configOf?: (name: unknown, table: Readonly<Record<string, unknown>>) => unknown;
}

/** A service under names that the function's configuration gives it. */
export interface NamedBinding<Config = unknown, Shared = unknown, Client extends object = object>
  extends ClientRow<Config, Shared, Client> {
  readonly implicit?: never;
  /** The option of load(): an object from binding names to configurations. */
  readonly option: string;
  /** The option is one configuration, whose member `binding` is the name; without a name there is no binding. @default false */
  readonly isSingle?: true;
  /** Absent when only the application's code can give a configuration. */
  readonly toml?: BindingTable;
  /** The type of such a binding in the management API: `store_bucket`. Absent like `toml`. */
  readonly managementType?: string;
  /** The key of the configuration in such a binding. @default the key in `toml` */
  readonly managementKey?: string;
  /** JSON schema of one configuration. The methods below only get configurations that passed it. */
  readonly schema: JsonSchema;
  /**
   * Opens it for one function.
   * @param name the name that the function has given to the binding
   * @throws TypeError for a configuration that the schema cannot refuse
   */
  open(context: FunctionContext<Shared>, config: Config, name: string): Service;
  /** The part of the configuration that the client in the function's realm needs, as a JSON value. */
  guestConfig?(
    config: Config,
    compatibility: FunctionContext['compatibility'],
    owner: { readonly account: string; readonly function: string },
  ): unknown;
  /** An export of the function's own main module that the configuration names, if it does. */
  ownExport?(
    config: Config,
    owner: { readonly account: string; readonly function: string },
  ): Omit<NeededExport, 'binding'> | undefined;
  /** Rejects while the function is being loaded, for what its first call would find out too late. */
  prepare?(context: AccountContext<Shared>, config: Config): Promise<void>;
}

export interface RemoteClient<Config, Shared, Client extends object> {
  /** The service that the client calls. The context has no `check`: that is for the process of the client. */
  service(context: AccountContext<Shared>, config: Config): Service;
  client(service: Service, given?: ClientBodies): Client;
}

/** Rows of the list: each takes the configuration that its own schema has checked, and what it has shared itself. */
export type BindingDefinition = ImplicitBinding | NamedBinding;

const BY_DEFAULT: BindingMethod = {};

/** The name of the method was written by a function. */
export function methodOf({ methods }: BindingBase, name: string): BindingMethod {
  return Object.hasOwn(methods, name) ? (methods[name] ?? BY_DEFAULT) : BY_DEFAULT;
}
