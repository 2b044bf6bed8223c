/** The data of one service, by account: one directory for each account of a storage. */
export class DirectoriesByAccount<Directory> {
  readonly #create: (account: string) => Directory;
  readonly #directories = new Map<string, Directory>();

  constructor(create: (account: string) => Directory) {
    this.#create = create;
  }

  /** The account is gone: one of the same id has another directory. */
  forget(account: string): void {
    this.#directories.delete(account);
  }

  of(account: string): Directory {
    let directory = this.#directories.get(account);
    if (directory === undefined) {
      directory = this.#create(account);
      this.#directories.set(account, directory);
    }
    return directory;
  }
}
