/** The application's listeners for changes that other applications make in the databases of the backend process. */
import type { ChangeListener, DatabaseChanges } from '../host-store.js';

export class DatabaseListeners implements DatabaseChanges {
  readonly #byDatabase = new Map<string, ChangeListener>();

  /** One listener for a database: the later takes the place of the earlier. */
  listen(database: string, listener: ChangeListener): void {
    this.#byDatabase.set(database, listener);
  }

  changed(database: string, keys: readonly string[] | undefined): void {
    this.#byDatabase.get(database)?.(keys);
  }

  /** Changes may have been missed. */
  missed(): void {
    for (const listener of this.#byDatabase.values()) listener(undefined);
  }
}
