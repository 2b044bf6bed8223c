/** The engines of an account that a binding opens by name: its buckets, for example. */
import type { AccountContext, AccountDirectories } from './binding.js';
import type { DirectoryContract } from './contract.js';

type Method = (...args: unknown[]) => unknown;

/** The directory of an account in a storage that opens with the first call. */
export function lazyDirectory<Directory extends object>(
  contract: DirectoryContract<Directory>,
  open: () => Promise<Directory>,
): Directory {
  const methods = Object.keys(contract.methods).map(name => [
    name,
    async (...args: unknown[]) => {
      const directory: object = await open();
      const method: Method = Reflect.get(directory, name);
      return method.apply(directory, args);
    },
  ]);
  return Object.fromEntries(methods) as Directory; // the contract has an entry for every method
}

/** @throws EdgeError EDGE_ACCOUNT_REMOVED when the account was removed meanwhile: another account may have its id, and the engine, by now */
export async function openEngine<Directory, Engine>(
  context: AccountContext<AccountDirectories<Directory>>,
  open: (directory: Directory) => Promise<Engine>,
): Promise<Engine> {
  const engine = await open(context.shared.of(context.account));
  context.check?.();
  return engine;
}
