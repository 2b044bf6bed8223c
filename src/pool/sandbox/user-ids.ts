/**
 * A user of its own for each cell: numbers that no account of the machine has, each given to one live cell at a time. Files, signals and
 * the memory of processes are then closed to other cells by the oldest rule of the system, whatever else fails.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import process from 'node:process';
import { EdgeError, errorCode, messageOf } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { outputOf, type Programs } from './programs.js';

/** Numbers of users, and of groups alike. `outside` is what `first` is called outside of the user namespace that the cells are in. */
export interface IdRange {
  readonly first: number;
  readonly count: number;
  readonly outside: number;
}

/** The user `nobody`, which processes without a user of their own share. */
const NOBODY = 65_534;
/** The user ids of one claim. A host with more cells makes more claims. */
export const IDS_PER_CLAIM = 256;
/** Claimed ahead when fewer are left. */
const LOW = 128;
/** The length of an abstract socket name: an address has 108 bytes, and the first of them marks the abstract namespace. */
const NAME_CHARACTERS = 107;
const MAX_ID = 4_294_967_294;

/**
 * Where root takes them from. Numbers from 2,100,000,000 on are unused: accounts are below 60,000 or come from a directory below 2^31, and
 * containers of systemd and subordinate ranges end at 1,879,048,191 (systemd, "Users, Groups, UIDs and GIDs"). Where a user namespace has no
 * such numbers, as in containers without root's own, a range that accounts of a small system leave free.
 */
const ROOT_RANGES: readonly (readonly [number, number])[] = [
  [2_100_000_000, 4_194_304],
  [40_000, 20_224],
];

interface MapLine {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** Lines of `/proc/<pid>/uid_map`. */
export function parseIdMap(text: string): readonly MapLine[] {
  return text
    .split('\n')
    .map(line => line.trim().split(/\s+/).map(Number))
    .flatMap(([inside, outside, count]) =>
      inside === undefined || outside === undefined || count === undefined ? [] : [{ inside, outside, count }],
    );
}

/** The range of numbers for a process that is root with these maps; undefined when neither range is in them. */
export function rootRange(uidMap: string, gidMap: string): IdRange | undefined {
  for (const [first, count] of ROOT_RANGES) {
    const covers = ({ inside, count: size }: MapLine): boolean => first >= inside && first + count <= inside + size;
    const line = parseIdMap(uidMap).find(covers);
    if (line !== undefined && parseIdMap(gidMap).some(covers)) {
      return { first, count, outside: line.outside + first - line.inside };
    }
  }
  return undefined;
}

/** Root and the subordinate range of the calling user, as root and users of a namespace. */
export const SUBORDINATE = ['--user', '--map-root-user', '--map-auto'];

/** The subordinate range of the calling user, by the maps of a namespace that is made to see them. */
export async function subordinateIds(unshare: string, { cat }: Programs): Promise<IdRange | undefined> {
  if (cat === undefined) return undefined;
  const read = (file: string): Promise<string> => outputOf(unshare, [...SUBORDINATE, cat, `/proc/self/${file}`]);
  const [users, groups] = await Promise.all([read('uid_map'), read('gid_map')]);
  return subordinateRange(users, groups);
}

/** The range inside a namespace that has been mapped from a subordinate range: all of it but root. */
export function subordinateRange(uidMap: string, gidMap: string): IdRange | undefined {
  const groups = parseIdMap(gidMap);
  for (const { inside, outside, count } of parseIdMap(uidMap)) {
    const group = groups.find(line => line.inside === inside);
    const both = Math.min(count, group?.count ?? 0);
    if (inside > 0 && both >= IDS_PER_CLAIM) return { first: inside, count: both, outside };
  }
  return undefined;
}

/** This process's own maps. */
export function ownRootRange(): IdRange | undefined {
  try {
    return rootRange(readFileSync('/proc/self/uid_map', 'latin1'), readFileSync('/proc/self/gid_map', 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * Numbers of one range, for the cells of this process. Hosts in other processes take other numbers: they claim some hundred at a time by a socket in the
 * system's abstract namespace. One process can have such a socket at a time, and it is free again when that process has ended, however it ended. That holds for
 * processes that share a network namespace; others begin somewhere else by chance.
 */
export class UserIds {
  readonly #range: IdRange;
  /** The unused ids. The ones that were used longest ago come first. */
  readonly #free: number[] = [];
  readonly #isShared: boolean;
  #claims = 0;
  readonly #firstClaim: number;
  #claiming: Promise<void> | undefined;

  /** `isShared`: cells see each other's processes, and what one leaves behind when it ends. */
  constructor(range: IdRange, isShared: boolean, random: () => number = Math.random) {
    this.#range = range;
    this.#isShared = isShared;
    this.#firstClaim = Math.floor(random() * this.#claimCount);
  }

  /** How many numbers there are without another claim. */
  get free(): number {
    return this.#free.length;
  }

  /** Makes sure that there are enough for the cells that are started next, if there are any left at all. */
  async reserve(): Promise<void> {
    while (this.#free.length < LOW && this.#claims < this.#claimCount) {
      this.#claiming ??= this.#claimNext().finally(() => {
        this.#claiming = undefined;
      });
      await this.#claiming;
    }
  }

  /** Throws EDGE_CELL_START when every number is in use. */
  take(): number {
    const id = this.#free.shift();
    if (id === undefined) {
      const { first, count } = this.#range;
      throw new EdgeError(
        'EDGE_CELL_START',
        `Cannot start a cell: each has a user of its own, and all of ${first} to ${first + count - 1} are in use`,
      );
    }
    return id;
  }

  /** The cell of this user has ended. */
  give(id: number): void {
    // Processes that it has left running are ended, so that no other cell shares a user with them.
    if (this.#isShared && endProcessesOf(id) > 0) return;
    this.#free.push(id);
  }

  get #claimCount(): number {
    return Math.floor(this.#range.count / IDS_PER_CLAIM);
  }

  async #claimNext(): Promise<void> {
    const { first, outside } = this.#range;
    const at = ((this.#firstClaim + this.#claims++) % this.#claimCount) * IDS_PER_CLAIM;
    if (first + at + IDS_PER_CLAIM > MAX_ID) return;
    if (!(await claim(`edgehost-users-${outside + at}`))) return;
    for (let id = first + at; id < first + at + IDS_PER_CLAIM; id++) if (id !== NOBODY && id > 0) this.#free.push(id);
  }
}

/** Answers whether no other process has the name. Where the system gives out no names, everybody may take it. */
function claim(name: string): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer(socket => socket.destroy());
    server.once(
      'error',
      guarded(error => resolve(errorCode(error) !== 'EADDRINUSE')),
    );
    // As long as a name can be: Node 20 fills up shorter ones with zeros, which makes them other names.
    server.listen({ path: `\0${name.padEnd(NAME_CHARACTERS, '.')}`, exclusive: true }, () => resolve(true));
    server.unref();
  });
}

function processNames(): string[] {
  try {
    return readdirSync('/proc');
  } catch (cause) {
    const why = messageOf(cause);
    const message = `Cannot start a cell: it is not known which processes its user has (${why}); raise the limit of open files, or mount /proc`;
    throw new EdgeError('EDGE_CELL_START', message, { cause });
  }
}

function endProcessesOf(id: number): number {
  let ended = 0;
  for (const name of processNames()) {
    try {
      if (!/^\d+$/.test(name) || statSync(`/proc/${name}`).uid !== id) continue;
      ended++;
      process.kill(Number(name), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  return ended;
}
