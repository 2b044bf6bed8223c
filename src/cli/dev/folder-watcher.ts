/**
 * Watches folders rather than files: editors replace a file by another of the same name, and a watch of the file would go with the old one.
 * Changes of a burst are reported together.
 */
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** The changes: paths, and for each whether an entry of that name appeared, disappeared or was replaced. */
export type FolderChanges = ReadonlyMap<string, { readonly isRenamed: boolean }>;

export interface FolderWatcherOptions {
  /** Never called again before it has settled. */
  readonly onChange: (changes: FolderChanges) => Promise<void>;
  /** A folder cannot be watched. */
  readonly onError: (folder: string, error: Error) => void;
}

/** A change is reported once this long has passed without another one, because editors write a file in several steps. */
const QUIET_MS = 10;
/** And no later than this after the first. */
const MAX_WAIT_MS = 50;
/** The times of files come from a clock of the kernel with steps of up to 10 ms. */
const CLOCK_STEP_MS = 10;
/** Files that editors and tools write beside their users' own files. */
const IGNORED = /^(?:\.git|\.edgehost|node_modules|4913|\.#.*|.*~|.*\.sw[a-z])$/;

export class FolderWatcher {
  readonly #options: FolderWatcherOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #changes = new Map<string, { isRenamed: boolean }>();
  #firstMs = 0;
  /** When changes were last reported, by the clock of the file system. */
  #reportedMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: FolderWatcherOptions) {
    this.#options = options;
  }

  /** From now on these folders are watched, and no others. One that is gone is left out. */
  watch(folders: Iterable<string>): void {
    if (this.#isClosed) return;
    const wanted = new Set(folders);
    for (const folder of [...this.#watchers.keys()]) if (!wanted.has(folder)) this.#drop(folder);
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      this.#add(folder);
      this.#noteEarlier(folder);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
    await this.#running;
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, (kind, name) => this.#note(folder, kind, name));
      watcher.on('error', error => {
        this.#drop(folder);
        this.#fail(folder, error);
      });
      this.#watchers.set(folder, watcher);
    } catch (error) {
      this.#fail(folder, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** An entry may have come into the folder, or a file in it may have been written, after its files were read and before it was watched. */
  #noteEarlier(folder: string): void {
    if (changedMs(folder) >= this.#reportedMs) this.#change(folder, true);
    for (const name of namesIn(folder)) {
      const path = join(folder, name);
      if (!IGNORED.test(name) && changedMs(path) >= this.#reportedMs) this.#change(path, false);
    }
  }

  #fail(folder: string, error: Error): void {
    if (!('code' in error) || error.code !== 'ENOENT') this.#options.onError(folder, error);
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  /** `name` is missing on some systems: then the folder itself has changed. */
  #note(folder: string, kind: string, name: string | null): void {
    if (this.#isClosed || (name !== null && IGNORED.test(name))) return;
    const path = name === null ? folder : join(folder, name);
    const isRenamed = kind === 'rename' || name === null || this.#changes.get(path)?.isRenamed === true;
    // A folder that another one replaced needs a new watch.
    if (isRenamed) this.#drop(path);
    this.#change(path, isRenamed);
  }

  #change(path: string, isRenamed: boolean): void {
    if (this.#changes.size === 0) this.#firstMs = performance.now();
    this.#changes.set(path, { isRenamed });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed || this.#running !== undefined || this.#changes.size === 0) return;
    clearTimeout(this.#timer);
    const left = Math.max(0, this.#firstMs + MAX_WAIT_MS - performance.now());
    this.#timer = setTimeout(() => this.#report(), Math.min(QUIET_MS, left));
  }

  #report(): void {
    const changes = this.#changes;
    this.#changes = new Map();
    this.#reportedMs = Date.now() - CLOCK_STEP_MS;
    this.#running = this.#options.onChange(changes).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }
}

/** 0 for a missing file. */
function changedMs(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  } catch {
    return 0;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The folders of files, with those between them and `root`. */
export function foldersOf(files: Iterable<string>, root: string): Set<string> {
  const folders = new Set<string>([root]);
  for (const file of files) {
    for (let folder = dirname(file); !folders.has(folder); folder = dirname(folder)) {
      folders.add(folder);
      if (!folder.startsWith(root)) break;
    }
  }
  return folders;
}
