/** The code that the functions of one account have loaded: shared by id, bounded, and forgotten when no isolate has it. */
import { EdgeError } from '../../quotas/errors.js';
import type { Peer } from '../invocation/peers.js';
import { LoadedFunction, type LoadedFunctionOwner } from './loaded-function.js';
import type { StartedCode, StartParts } from './start-parts.js';

/** Loaded functions of one account. */
const MAX_LOADED = 200;
/** Loaded functions of one loader. */
const MAX_PER_LOADER = 100;
/** Modules and environments of one account, which the host keeps while their isolates may be started again. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
/** Starting one takes a thread, whose start no invocation is charged with. */
const MAX_PER_INVOCATION = 32;
/** The size of a loaded function besides its code. */
const RECORD_BYTES = 8 * 1024;

/** The part of the account's HostShare that it uses. */
export interface LoadersShare {
  readonly bytes: { countHeap(bytes: number): void };
}

/** An invocation that loads code. */
export type LoadingPeer = Pick<Peer, 'whenOver'>;

/** The code that a call loads. */
export interface CodeToLoad {
  /** The loader, as one text for all bindings that share it. */
  readonly loader: string;
  /** Null for code that belongs to the invocation. */
  readonly id: string | null;
  readonly bytes: number;
  readonly parts: StartParts;
}

export class AccountLoaders implements LoadedFunctionOwner {
  readonly #account: string;
  readonly #share: LoadersShare;
  /** The least recently used ones first. */
  readonly #loaded = new Map<LoadedFunction, string>();
  readonly #byKey = new Map<string, LoadedFunction>();
  readonly #opened = new WeakMap<LoadingPeer, OpenedFunctions>();
  #heldBytes = 0;
  #ended: EdgeError | undefined;
  /** Starts a function. Set by the account, which is made after this. */
  start: (parts: StartParts, onGone: () => void) => Promise<StartedCode> = async () => {
    throw new EdgeError('EDGE_NOT_SUPPORTED', 'Code cannot be loaded here');
  };

  constructor(account: string, share: LoadersShare) {
    this.#account = account;
    this.#share = share;
  }

  /** Loaded functions that are kept now. */
  get size(): number {
    return this.#loaded.size;
  }

  /** Opens the code of the id. @returns its number in the invocation; undefined when it must be loaded */
  open(loader: string, id: string, peer: LoadingPeer): number | undefined {
    const found = this.#byKey.get(keyOf(loader, id));
    if (found === undefined) return undefined;
    this.#touch(found);
    return this.#openedBy(peer).add(found);
  }

  /**
   * Begins to load the code. Code with an id that another invocation has loaded meanwhile is not loaded again.
   *
   * @returns its number in the invocation
   * @throws EdgeError EDGE_OVERLOADED
   */
  load({ loader, id, bytes, parts }: CodeToLoad, peer: LoadingPeer): number {
    if (this.#ended !== undefined) throw this.#ended;
    const known = id === null ? undefined : this.open(loader, id, peer);
    if (known !== undefined) return known;
    const opened = this.#openedBy(peer);
    if (opened.loads >= MAX_PER_INVOCATION) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot load code: the invocation has loaded ${opened.loads} functions, at most ${MAX_PER_INVOCATION} are allowed`,
      );
    }
    const heldBytes = RECORD_BYTES + bytes;
    this.#makeRoom(loader, heldBytes);
    opened.loads++;
    const key = id === null ? undefined : keyOf(loader, id);
    const loaded = new LoadedFunction(key, heldBytes, this, onGone => this.start(parts, onGone));
    this.#loaded.set(loaded, loader);
    if (key !== undefined) this.#byKey.set(key, loaded);
    this.#count(heldBytes);
    return opened.add(loaded);
  }

  /** The loaded function of this number in the invocation. @throws TypeError */
  find(number: number, peer: LoadingPeer): LoadedFunction {
    const found = this.#opened.get(peer)?.byNumber.get(number);
    if (found === undefined) throw new TypeError('The invocation has loaded no function of this number');
    return found;
  }

  /** The limits or rules of the account have changed: later invocations load everything again. */
  expire(): void {
    for (const loaded of [...this.#loaded.keys()]) loaded.expire();
  }

  /** The account ends. */
  close(error: EdgeError): void {
    this.#ended = error;
    for (const loaded of [...this.#loaded.keys()]) {
      loaded.end(error);
      this.onUnused(loaded);
    }
  }

  onUnused(loaded: LoadedFunction): void {
    if (!this.#loaded.delete(loaded)) return;
    this.onStale(loaded);
    this.#count(-loaded.heldBytes);
  }

  onStale(loaded: LoadedFunction): void {
    if (loaded.key !== undefined && this.#byKey.get(loaded.key) === loaded) this.#byKey.delete(loaded.key);
  }

  #openedBy(peer: LoadingPeer): OpenedFunctions {
    const known = this.#opened.get(peer);
    if (known !== undefined) return known;
    const opened = new OpenedFunctions();
    this.#opened.set(peer, opened);
    peer.whenOver(() => opened.close());
    return opened;
  }

  #touch(loaded: LoadedFunction): void {
    const loader = this.#loaded.get(loaded);
    if (loader === undefined) return;
    this.#loaded.delete(loaded);
    this.#loaded.set(loaded, loader);
  }

  /** Ends unused functions, the least recently used first. @throws EdgeError EDGE_OVERLOADED */
  #makeRoom(loader: string, heldBytes: number): void {
    const ofLoader = (): number => [...this.#loaded.values()].filter(each => each === loader).length;
    if (ofLoader() >= MAX_PER_LOADER && !this.#evict(loader)) {
      throw this.#full(`${MAX_PER_LOADER} functions of the loader are in use, as many as it may have`);
    }
    if (this.#loaded.size >= MAX_LOADED && !this.#evict(undefined)) {
      throw this.#full(`${MAX_LOADED} loaded functions are in use, as many as the account may have`);
    }
    while (this.#heldBytes + heldBytes > MAX_HELD_BYTES) {
      if (this.#evict(undefined)) continue;
      throw this.#full(
        `its ${heldBytes} bytes and the ${this.#heldBytes} bytes of loaded functions that are in use are more than the ${MAX_HELD_BYTES} bytes that the account may have`,
      );
    }
  }

  #evict(loader: string | undefined): boolean {
    for (const [loaded, its] of this.#loaded) {
      if (loaded.isUsed || (loader !== undefined && its !== loader)) continue;
      loaded.end();
      this.onUnused(loaded);
      return true;
    }
    return false;
  }

  #full(why: string): EdgeError {
    return new EdgeError('EDGE_OVERLOADED', `Cannot load code in account "${this.#account}": ${why}`);
  }

  #count(bytes: number): void {
    this.#heldBytes += bytes;
    this.#share.bytes.countHeap(bytes);
  }
}

/** The loaded functions that one invocation uses, by the numbers that it knows them by. */
class OpenedFunctions {
  readonly byNumber = new Map<number, LoadedFunction>();
  readonly #numbers = new Map<LoadedFunction, number>();
  loads = 0;
  #isOver = false;

  add(loaded: LoadedFunction): number {
    if (this.#isOver) throw new EdgeError('EDGE_CANCELED', 'The invocation that loads code is over');
    const known = this.#numbers.get(loaded);
    if (known !== undefined) return known;
    const number = this.byNumber.size + 1;
    this.byNumber.set(number, loaded);
    this.#numbers.set(loaded, number);
    loaded.use();
    return number;
  }

  close(): void {
    this.#isOver = true;
    for (const loaded of this.byNumber.values()) loaded.unuse();
    this.byNumber.clear();
    this.#numbers.clear();
  }
}

/** Loaders have no line breaks in their names. */
function keyOf(loader: string, id: string): string {
  return `${loader}\n${id}`;
}
