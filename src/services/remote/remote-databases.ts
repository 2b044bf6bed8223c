/** The SQL databases of accounts whose storage is in the services process. A name is that of the database which has it when a call is made. */
import type { AppliedMigration, SqlBounds, SqlDirectory, SqlEngine } from '../../bindings/sql/engine.js';
import { EdgeError } from '../../quotas/errors.js';
import { readingCall, writingCall } from './body-call.js';
import type { NamedAddress } from './calls.js';
import type { RemoteLink } from './remote-link.js';

export function remoteDatabases(link: RemoteLink, account: string): SqlDirectory {
  const at = (name: string): NamedAddress => ({ account, name });
  return {
    open: async (name, bounds) => {
      await link.call('sql.open', at(name), onlyBounds(bounds));
      return new RemoteDatabase(link, at(name));
    },
    find: async name => ((await link.call('sql.exists', at(name))) ? new RemoteDatabase(link, at(name)) : null),
    create: async (name, bounds) => ({ created: await link.call('sql.create', at(name), onlyBounds(bounds)) }),
    delete: name => link.call('sql.remove', at(name)),
    list: () => link.call('sql.list', account),
  };
}

class RemoteDatabase implements SqlEngine {
  readonly name: string;
  readonly isClosed = false;
  readonly #link: RemoteLink;
  readonly #address: NamedAddress;

  constructor(link: RemoteLink, address: NamedAddress) {
    this.name = address.name;
    this.#link = link;
    this.#address = address;
  }

  /** Those of functions, and of the application's client, go to the service of the binding. */
  query(): Promise<never> {
    return notHere();
  }

  exec(): Promise<never> {
    return notHere();
  }

  bookmark(): never {
    throw notHereError();
  }

  export(): AsyncIterable<Uint8Array> {
    return this.#read('sql.export');
  }

  backup(): AsyncIterable<Uint8Array> {
    return this.#read('sql.backup');
  }

  import(text: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<number> {
    return writingCall(this.#link, text, UNCOUNTED, 'sql.import', this.#address, onlyBounds(bounds));
  }

  restore(file: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<undefined> {
    return writingCall(this.#link, file, UNCOUNTED, 'sql.restore', this.#address, onlyBounds(bounds));
  }

  migrate(name: string, sql: string, bounds?: SqlBounds): Promise<boolean> {
    return this.#link.call('sql.migrate', this.#address, name, sql, onlyBounds(bounds));
  }

  migrations(): Promise<readonly AppliedMigration[]> {
    return this.#link.call('sql.migrations', this.#address);
  }

  async *#read(method: 'sql.export' | 'sql.backup'): AsyncGenerator<Uint8Array> {
    const { body } = await readingCall(this.#link, undefined, method, this.#address);
    if (body instanceof Uint8Array) yield body;
    else yield* body;
  }
}

const UNCOUNTED = { work: undefined, signal: undefined } as const;

/** The limits of an account have much else. */
function onlyBounds(bounds: SqlBounds | undefined): SqlBounds | undefined {
  if (bounds === undefined) return undefined;
  const { plan, storageBytes, storageObjects, sqlDatabases, sqlDatabaseBytes } = bounds;
  return { plan, storageBytes, storageObjects, sqlDatabases, sqlDatabaseBytes };
}

function notHere(): Promise<never> {
  return Promise.reject(notHereError());
}

function notHereError(): EdgeError {
  return new EdgeError('EDGE_NOT_SUPPORTED', 'Statements are run where the storage is: use account.sql()');
}
