import { type CallWork, OWN_WORK } from '../service.js';
import type { Bodies } from './bodies.js';
import type { KeyValueStore } from './key-value-store.js';
import { afterPrefix, type LevelOperation } from './level-database.js';
import { recordKeys } from './record-keys.js';

/** Where the value of an object is: in one record, in one file, or in a list of both. */
export type BodyRef =
  | { readonly kind: 'inline'; readonly id: string }
  | { readonly kind: 'file'; readonly id: string }
  | { readonly kind: 'list'; readonly id: string };

/** One entry of a body list. */
export interface BodySegment {
  readonly kind: 'inline' | 'file';
  readonly id: string;
  readonly size: number;
}

interface Hold {
  readers: number;
  doomed: { readonly body: BodyRef; readonly work: CallWork } | undefined;
}

/**
 * Gives the space of bodies back that were deleted or replaced, when no reader holds them any more. The commit that drops
 * a body notes it as trash, so that what a crash interrupts is done at the next opening.
 */
export class Reclaimer {
  readonly #records: KeyValueStore;
  readonly #bodies: Bodies;
  readonly #holds = new Map<string, Hold>();
  readonly #running = new Set<Promise<void>>();

  constructor(records: KeyValueStore, bodies: Bodies) {
    this.#records = records;
    this.#bodies = bodies;
  }

  /** Keeps the body while it is read. */
  hold(id: string): void {
    const hold = this.#holds.get(id);
    if (hold === undefined) this.#holds.set(id, { readers: 1, doomed: undefined });
    else hold.readers++;
  }

  release(id: string): void {
    const hold = this.#holds.get(id);
    if (hold === undefined || --hold.readers > 0) return;
    this.#holds.delete(id);
    if (hold.doomed !== undefined) this.#reclaim(hold.doomed.body, hold.doomed.work);
  }

  /** What the commit must hold that drops the last reference to the body. */
  dropping(body: BodyRef): LevelOperation {
    // A record is read as a whole, before or after the commit: nobody can be half way through it.
    if (body.kind === 'inline') return { type: 'del', key: recordKeys.inlineBody(body.id) };
    return { type: 'put', key: recordKeys.trash(body.id), value: TRASH[body.kind] };
  }

  /** After that commit. */
  dropped(body: BodyRef, work: CallWork): void {
    if (body.kind === 'inline') return;
    const hold = this.#holds.get(body.id);
    if (hold === undefined) this.#reclaim(body, work);
    else hold.doomed = { body, work };
  }

  /**
   * For a body file whose commit failed: LevelDB may find the record whole all the same when it is opened again. Removes
   * the file when it did not.
   */
  undecided(id: string, settle: () => void): void {
    this.#records.whenSound(() => {
      this.#track(
        this.#records.get(recordKeys.fileBody(id)).then(async used => {
          if (used === undefined) await this.#bodies.remove(id, OWN_WORK);
          settle();
        }),
      );
    });
  }

  /** Does what a crash or a reader left to do when the storage was closed. */
  async collect(): Promise<void> {
    const prefix = recordKeys.trash('');
    for await (const page of this.#records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
      for (const [key, value] of page) {
        const id = key.slice(prefix.length);
        await this.#remove({ kind: value[0] === TRASH.list[0] ? 'list' : 'file', id }, OWN_WORK);
      }
    }
  }

  /** Resolves when no removal is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #reclaim(body: BodyRef, work: CallWork): void {
    this.#track(this.#remove(body, work));
  }

  /** What fails is noted still, and tried again at the next opening. */
  #track(removal: Promise<void>): void {
    const task = removal.catch(() => {}).finally(() => this.#running.delete(task));
    this.#running.add(task);
  }

  async #remove(body: BodyRef, work: CallWork): Promise<void> {
    const done: LevelOperation[] = [];
    if (body.kind === 'file') await this.#removeFile(body.id, done, work);
    else if (body.kind === 'list') {
      const list = await this.#records.get(recordKeys.bodyList(body.id), work);
      for (const segment of list === undefined ? [] : parseBodyList(list)) {
        if (segment.kind === 'file') await this.#removeFile(segment.id, done, work);
        else done.push({ type: 'del', key: recordKeys.inlineBody(segment.id) });
      }
      done.push({ type: 'del', key: recordKeys.bodyList(body.id) });
    }
    done.push({ type: 'del', key: recordKeys.trash(body.id) });
    this.#records.ride(done);
  }

  async #removeFile(id: string, done: LevelOperation[], work: CallWork): Promise<void> {
    await this.#bodies.remove(id, work);
    done.push({ type: 'del', key: recordKeys.fileBody(id) });
  }
}

const TRASH = { file: new Uint8Array([102]), list: new Uint8Array([108]) } as const;

export function bodyList(segments: readonly BodySegment[]): Uint8Array {
  return Buffer.from(JSON.stringify(segments.map(({ kind, id, size }) => [kind === 'file' ? 1 : 0, id, size])));
}

export function parseBodyList(bytes: Buffer): BodySegment[] {
  const list: [0 | 1, string, number][] = JSON.parse(bytes.toString());
  return list.map(([file, id, size]) => ({ kind: file === 1 ? 'file' : 'inline', id, size }));
}
