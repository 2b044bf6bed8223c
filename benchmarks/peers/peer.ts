/** Other runtimes that run someone's functions, brought into one shape. They are installed for the measurement and are not dependencies. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A function that is loaded in a peer. */
export interface PeerFunction {
  /** Calls it inside this process and reads its answer. */
  call(url: string): Promise<string>;
  /** Where it answers HTTP, if it has a server of its own; else calls are made from `node:http`. */
  readonly url?: string;
  close(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** What npm installs. */
  readonly packages: readonly string[];
  /** A note about its values. */
  readonly note: string;
  /** Whether it has a bucket that `BUCKET_FUNCTION` can use as FILES. */
  readonly hasBucket: boolean;
  /** Loads PLATFORM_FUNCTION and CALLED_FUNCTION with what they use, which is kept in `data`. Undefined where it has none of it. */
  loadPlatform?(folder: string, data: string): Promise<PeerFunction>;
  /** `folder` is where its packages are; `data` is for its bucket, when it is to have one. */
  load(folder: string, source: string, data?: string): Promise<PeerFunction>;
}

/** The export of a package that is installed in a folder. Packages of peers have no types here: their shapes are asserted by the caller. */
export function exportOf(folder: string, packageName: string, name: string): unknown {
  const loaded: unknown = createRequire(join(folder, 'package.json'))(packageName);
  const found: unknown = typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, name) : undefined;
  if (found === undefined) throw new Error(`The package ${packageName} has no ${name}`);
  return found;
}
