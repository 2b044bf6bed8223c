/** The options of load() that a checked file of the hosted platform asks for. */
import { ALWAYS_ON } from '../../../bindings/always-on-flags.js';
import { COMPATIBILITY_FLAGS, flagsOfDateThere, NEVER_ON } from '../../../bindings/compatibility-flags.js';
import { consumerOf, type QueueConsumerOptions } from '../../../config-schema/consumer-shapes.js';
import type { LimitOverrides } from '../../../quotas/resolve-limits.js';
import type { KeyPath } from '../../../quotas/schema/complaint.js';
import type { LoadOptions, RouteOptions } from '../../options/options.js';
import type { ConfigReader } from '../reading/config-reader.js';
import type { EnvironmentTable } from './environment.js';
import { hyperdriveVariable } from './hyperdrive.js';
import { bucketName, storeName } from './names.js';
import type { WranglerTable } from './schema.js';
import { ignoredIn, unavailableIn, unavailableText } from './unavailable.js';

export interface Translation {
  readonly options: LoadOptions;
  readonly notes: readonly string[];
  /** The name of the variable that has the version. */
  readonly versionBinding: string | undefined;
  /** Databases with the folders of their migrations, relative to the file. `isNamed`: the file names the folder. */
  readonly migrations: readonly { readonly database: string; readonly folder: string; readonly isNamed: boolean }[];
}

const CRON_FLAG = 'cron_weekdays_start_at_1';
const KNOWN_FLAGS: ReadonlySet<string> = new Set<string>([...COMPATIBILITY_FLAGS, ...ALWAYS_ON]);

/** The part of the translation that concerns one file. */
export class Translator {
  readonly #reader: ConfigReader;
  readonly #pathOf: EnvironmentTable['pathOf'];
  readonly #table: WranglerTable;
  readonly #name: string;
  readonly #notes: string[] = [];
  /** Where each name of `env` is given. */
  readonly #names = new Map<string, string>();
  readonly #vars: Record<string, unknown> = {};
  readonly #unavailable: Record<string, string> = {};

  /** @param name of the function, for stores that have none of their own */
  constructor(reader: ConfigReader, { table, pathOf }: EnvironmentTable, name: string) {
    this.#reader = reader;
    this.#pathOf = pathOf;
    // Checked by WRANGLER_SCHEMA, except for keys that it does not know.
    this.#table = table as WranglerTable;
    this.#name = name;
    const { bindings, notes } = unavailableIn(table);
    for (const [binding, text] of Object.entries(bindings)) this.#unavailable[binding] = text;
    this.#notes.push(...notes);
    const ignored = ignoredIn(table);
    if (ignored.length > 0)
      this.#notes.push(`ignored, as they concern deployment to the hosted platform: ${ignored.join(', ')}`);
  }

  /** @throws EdgeError EDGE_CONFIG_INVALID */
  translate(): Translation {
    const table = this.#table;
    for (const name of Object.keys(table.vars ?? {})) this.#claim(name, ['vars', name]);
    const bindings = this.#bindings();
    const { versionBinding, migrations } = bindings;
    const crons = table.triggers?.crons ?? [];
    const options = {
      ...(table.name !== undefined && { name: table.name }),
      ...(table.compatibility_date !== undefined && { compatibilityDate: table.compatibility_date }),
      compatibilityFlags: this.#flags(crons.length > 0),
      routes: this.#routes(),
      crons,
      ...bindings.options,
      vars: { ...table.vars, ...this.#vars },
      tails: (table.tail_consumers ?? []).map(({ service, environment }) => inEnvironment(service, environment)),
      ...(table.queues?.consumers !== undefined && { consumers: this.#consumers() }),
      limits: this.#limits(),
      ...(Object.keys(this.#unavailable).length > 0 && { unavailable: this.#unavailable }),
    };
    this.#noteRemote();
    this.#noteClasses();
    return { options, notes: this.#notes, versionBinding, migrations };
  }

  #bindings(): { options: object } & Pick<Translation, 'versionBinding' | 'migrations'> {
    const table = this.#table;
    const options = {
      ...this.#named('kv', table.kv_namespaces, ['kv_namespaces'], ({ id, binding }) =>
        storeName(id, this.#name, binding),
      ),
      ...this.#named('buckets', table.r2_buckets, ['r2_buckets'], ({ bucket_name: name, binding }) =>
        bucketName(name, this.#name, binding),
      ),
      ...this.#named('sql', table.d1_databases, ['d1_databases'], each => this.#databaseOf(each)),
      ...this.#named(
        'queues',
        table.queues?.producers,
        ['queues', 'producers'],
        ({ queue, delivery_delay: deliveryDelaySeconds }) =>
          deliveryDelaySeconds === undefined ? queue : { queue, deliveryDelaySeconds },
      ),
      ...this.#named(
        'objects',
        table.durable_objects?.bindings?.map(each => ({ ...each, binding: each.name })),
        ['durable_objects', 'bindings'],
        ({ class_name, script_name, environment }) =>
          script_name === undefined
            ? class_name
            : { class: class_name, function: inEnvironment(script_name, environment) },
      ),
      ...this.#named('services', table.services, ['services'], ({ service, environment, entrypoint, props }) => ({
        function: inEnvironment(service, environment),
        ...(entrypoint !== undefined && { entrypoint }),
        ...(props !== undefined && { props }),
      })),
      ...this.#named('loaders', table.worker_loaders, ['worker_loaders'], () => ({})),
    };
    this.#addHyperdrive();
    const { binding: assetsBinding } = table.assets ?? {};
    if (assetsBinding !== undefined) this.#claim(assetsBinding, ['assets', 'binding']);
    const versionBinding = table.version_metadata?.binding;
    if (versionBinding !== undefined) this.#claim(versionBinding, ['version_metadata', 'binding']);
    for (const name of Object.keys(this.#unavailable)) this.#claim(name, []);
    const migrations = (table.d1_databases ?? []).map(each => ({
      database: this.#databaseOf(each),
      folder: each.migrations_dir ?? 'migrations',
      isNamed: each.migrations_dir !== undefined,
    }));
    return { options, versionBinding, migrations };
  }

  #databaseOf(each: { binding: string; database_name?: string; database_id?: string }): string {
    const { binding, database_name: name, database_id: id } = each;
    return storeName(name === undefined || name === '' ? id : name, this.#name, binding);
  }

  /** One option, by the names of its bindings. */
  #named<Item extends { readonly binding: string }, Config>(
    option: string,
    items: readonly Item[] | undefined,
    path: readonly [string, ...string[]],
    configOf: (item: Item) => Config,
  ): Readonly<Record<string, Readonly<Record<string, Config>>>> {
    if (items === undefined || items.length === 0) return {};
    const configurations: Record<string, Config> = {};
    for (const [index, item] of items.entries()) {
      this.#claim(item.binding, [...path, index]);
      configurations[item.binding] = configOf(item);
    }
    return { [option]: configurations };
  }

  #addHyperdrive(): void {
    for (const [index, { binding, localConnectionString }] of (this.#table.hyperdrive ?? []).entries()) {
      if (localConnectionString === undefined || localConnectionString === '') {
        const advice = 'write its localConnectionString, the address of a PostgreSQL or MySQL database';
        this.#unavailable[binding] = unavailableText(binding, 'hyperdrive', advice);
        this.#notes.push(`"hyperdrive" (env.${binding}) has no database: ${advice}`);
        continue;
      }
      this.#claim(binding, ['hyperdrive', index]);
      const variable = hyperdriveVariable(localConnectionString);
      if (variable === undefined) {
        throw this.#error(
          ['hyperdrive', index, 'localConnectionString'],
          `hyperdrive[${index}].localConnectionString is no connection string, expected postgres://user:password@host/database or mysql://...`,
        );
      }
      this.#vars[binding] = variable;
    }
  }

  /** @throws EdgeError when two bindings or variables have the name */
  #claim(name: string, path: KeyPath): void {
    const key = path
      .slice(0, path[0] === 'vars' ? 1 : path.length)
      .filter(part => typeof part === 'string')
      .join('.');
    const other = this.#names.get(name);
    if (other !== undefined)
      throw this.#error(
        path,
        `Binding "${name}" is given twice: by ${other} and by ${key === '' ? 'another key' : key}`,
      );
    this.#names.set(name, key);
  }

  #error(path: KeyPath, message: string): Error {
    const [key, ...rest] = path;
    return this.#reader.error(key === undefined ? [] : [...this.#pathOf(String(key)), ...rest], message);
  }

  #flags(hasCrons: boolean): string[] {
    const given = this.#table.compatibility_flags ?? [];
    const never = given.filter(flag => Object.hasOwn(NEVER_ON, flag));
    for (const flag of never) this.#notes.push(`the compatibility flag ${flag} does not hold here: ${NEVER_ON[flag]}`);
    const unknown = given.filter(flag => !KNOWN_FLAGS.has(flag) && !never.includes(flag));
    if (unknown.length > 0) this.#notes.push(`compatibility flags without an effect here: ${unknown.join(', ')}`);
    const named = given.filter(flag => KNOWN_FLAGS.has(flag));
    const known = [...named, ...flagsOfDateThere(this.#table.compatibility_date ?? '', named)];
    return hasCrons && !known.includes(CRON_FLAG) ? [...known, CRON_FLAG] : known;
  }

  #routes(): RouteOptions[] {
    const { route, routes } = this.#table;
    if (route !== undefined && routes !== undefined)
      throw this.#error(['route'], 'route and routes are both given; name every route in routes');
    return (route === undefined ? (routes ?? []) : [route]).flatMap(given => {
      if (typeof given === 'string') return [{ pattern: given }];
      const { pattern, zone_name: zone, custom_domain: customDomain, enabled } = given;
      if (enabled === false) return [];
      const isWhole = customDomain === true && !pattern.includes('/');
      return [
        {
          pattern: isWhole ? `${pattern}/*` : pattern,
          ...(zone !== undefined && { zone }),
          ...(customDomain !== undefined && { customDomain }),
        },
      ];
    });
  }

  #consumers(): QueueConsumerOptions[] {
    return (this.#table.queues?.consumers ?? []).flatMap((given, index) => {
      const { type, visibility_timeout_ms: _, max_concurrency, ...written } = given;
      if (type !== undefined && type !== 'worker') {
        const place = `queues.consumers[${index}].type`;
        throw this.#error(
          ['queues', 'consumers', index, 'type'],
          `${place} is "${type}", expected "worker": other programs take messages by the management API`,
        );
      }
      return [consumerOf({ ...written, ...(typeof max_concurrency === 'number' && { max_concurrency }) })];
    });
  }

  #limits(): LimitOverrides {
    const { cpu_ms: cpuMs, subrequests } = this.#table.limits ?? {};
    return { ...(cpuMs !== undefined && { cpuMs }), ...(subrequests !== undefined && { subrequests }) };
  }

  #noteRemote(): void {
    const { kv_namespaces = [], r2_buckets = [], d1_databases = [], services = [], queues } = this.#table;
    const all = [...kv_namespaces, ...r2_buckets, ...d1_databases, ...services, ...(queues?.producers ?? [])];
    const remote = all.filter(each => each.remote === true).map(({ binding }) => `env.${binding}`);
    if (remote.length > 0) this.#notes.push(`"remote" has no effect, since data is here: ${remote.join(', ')}`);
  }

  #noteClasses(): void {
    const renamed = (this.#table.migrations ?? []).flatMap(each => each.renamed_classes ?? []);
    if (renamed.length === 0) return;
    const list = renamed.map(({ from, to }) => `${from} to ${to}`).join(', ');
    this.#notes.push(`objects keep the name of the class that they were made with; the data is not moved from ${list}`);
  }
}

/** The name of a function of an environment. */
function inEnvironment(name: string, environment: string | undefined): string {
  return environment === undefined || environment === '' ? name : `${name}-${environment}`;
}
