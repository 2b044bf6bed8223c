/**
 * The messages of one queue that can be delivered now, in the order of their places: read from disk a page at a time, and taken as they are sent while somebody
 * waits for them. It reads forward only, so that neither messages that are being handled nor the remains of deleted ones are gone through again and again.
 *
 * Invariant: each message on disk is beyond the frontier, or held, or late; or it has been written and `arrived` has not been called yet.
 */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import { decodeMessage, type StoredMessage } from './message-codec.js';
import { dueOf, queueKeys } from './queue-keys.js';

export interface ReadyMessage extends StoredMessage {
  readonly place: string;
}

/** Messages of one page, and of those that are read one by one. */
const PAGE = 128;
const LATE_PAGE = 32;
/** Bodies that stay in memory while nobody waits for messages. */
const KEPT_BYTES = 256 * 1024;
/** The most messages that may be ready in memory before more are read or taken. */
const READY_MESSAGES = 500;
const READY_BYTES = 1024 * 1024;
/** The places of late messages that are remembered; past that everything is read again. */
const MAX_LATE = 10_000;

export class QueueWindow {
  readonly #records: RecordStore;
  readonly #prefix: string;
  readonly #work: CallWork;
  readonly #now: () => number;
  readonly #ready: ReadyMessage[] = [];
  #readyBytes = 0;
  /** The places of messages that are ready or claimed. */
  readonly #held = new Set<string>();
  /** Places before the frontier that are not held: messages that came behind a later one, or whose claim is over. */
  #late: string[] = [];
  #frontier = '';
  /** Nothing that can be delivered is beyond the frontier. */
  #isDry = false;
  /** When the first message beyond the frontier can be delivered, if that is known. */
  #nextDue: number | undefined;
  #filling: Promise<void> | undefined;
  /** The places that have arrived while a page was being read, which it may or may not have. */
  #duringFill: string[] = [];
  /** The places that were settled while a page was being read, which may still have them. */
  readonly #settledDuringFill = new Set<string>();
  /** Counts how often all was forgotten: a page that was being read then is not used. */
  #epoch = 0;

  constructor(records: RecordStore, queueId: string, work: CallWork, now: () => number) {
    this.#records = records;
    this.#prefix = queueKeys.messages(queueId);
    this.#work = work;
    this.#now = now;
  }

  get first(): ReadyMessage | undefined {
    return this.#ready[0];
  }

  get readyMessages(): number {
    return this.#ready.length;
  }

  get readyBytes(): number {
    return this.#readyBytes;
  }

  /** When more can be delivered than now; undefined: when more has been sent. To be asked when `fill` has nothing to do. */
  get nextDue(): number | undefined {
    return this.#nextDue;
  }

  isHeld(place: string): boolean {
    return this.#held.has(place);
  }

  /** Reads more, if there may be more; undefined: all that can be delivered is ready, or as much as may be in memory. */
  fill(): Promise<void> | undefined {
    if (this.#filling !== undefined) return this.#filling;
    if (this.#nextDue !== undefined && this.#nextDue <= this.#now()) {
      this.#nextDue = undefined;
      this.#isDry = false;
    }
    if (this.#late.length === 0 && this.#isDry) return undefined;
    if (this.#ready.length >= READY_MESSAGES || this.#readyBytes >= READY_BYTES) return undefined;
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined;
      this.#duringFill = [];
      this.#settledDuringFill.clear();
    });
    return this.#filling;
  }

  /** Takes the first ready message. It stays held until `settled` or `returned`. */
  take(): ReadyMessage | undefined {
    const message = this.#ready.shift();
    if (message !== undefined) this.#readyBytes -= message.body.byteLength;
    return message;
  }

  /** Messages are on disk. `isWanted`: somebody waits for messages now. */
  arrived(messages: readonly ReadyMessage[], isWanted: boolean): void {
    const now = this.#now();
    for (const message of messages) {
      const { place } = message;
      if (this.#held.has(place)) continue;
      if (this.#filling !== undefined) this.#duringFill.push(place);
      else if (place <= this.#frontier) this.#addLate(place);
      else this.#arrivedBeyond(message, now, isWanted);
    }
  }

  /** The message is no longer on disk at this place. */
  settled(place: string): void {
    this.#held.delete(place);
    if (this.#filling !== undefined) this.#settledDuringFill.add(place);
  }

  /** A claim is over, and the message still there. */
  returned(place: string): void {
    if (this.#held.delete(place)) this.#addLate(place);
  }

  /** Nobody waits for messages: what takes much memory is read again when somebody does. */
  trim(): void {
    if (this.#readyBytes <= KEPT_BYTES) return;
    const places = this.#ready.map(({ place }) => place);
    this.#dropReady();
    for (const place of places.reverse()) this.#late.unshift(place);
  }

  /** The state on disk is unknown from here on. Messages that are claimed stay so. */
  forget(): void {
    this.#epoch++;
    this.#dropReady();
    this.#late = [];
    this.#frontier = '';
    this.#isDry = false;
    this.#nextDue = undefined;
  }

  #dropReady(): void {
    for (const { place } of this.#ready) this.#held.delete(place);
    this.#ready.length = 0;
    this.#readyBytes = 0;
  }

  #addLate(place: string): void {
    if (this.#late.length < MAX_LATE) this.#late.push(place);
    else this.forget();
  }

  #arrivedBeyond(message: ReadyMessage, now: number, isWanted: boolean): void {
    const due = dueOf(message.place);
    if (due > now) {
      if (this.#isDry && (this.#nextDue === undefined || due < this.#nextDue)) this.#nextDue = due;
      return;
    }
    const isNext = this.#isDry && (this.#nextDue === undefined || this.#nextDue > due);
    const hasRoom = this.#ready.length < READY_MESSAGES && this.#readyBytes < READY_BYTES;
    if (isWanted && isNext && hasRoom) {
      this.#frontier = message.place;
      this.#add(message);
    } else this.#isDry = false;
  }

  #add(message: ReadyMessage): void {
    this.#held.add(message.place);
    this.#ready.push(message);
    this.#readyBytes += message.body.byteLength;
  }

  async #fill(): Promise<void> {
    const epoch = this.#epoch;
    if (this.#late.length > 0) await this.#readLate(epoch);
    else await this.#readBeyond(epoch);
    if (epoch !== this.#epoch) return;
    for (const place of this.#duringFill) {
      if (!this.#isNew(place)) continue;
      if (place <= this.#frontier) this.#addLate(place);
      else this.#isDry = false;
    }
  }

  async #readLate(epoch: number): Promise<void> {
    const places = this.#late.slice(0, LATE_PAGE);
    const records = await this.#records.getMany(
      places.map(place => this.#prefix + place),
      this.#records.passingOver,
      this.#work,
    );
    if (epoch !== this.#epoch) return;
    this.#late.splice(0, places.length);
    for (const [index, place] of places.entries()) {
      const record = records[index];
      // One that was deleted in the meantime is gone.
      if (record !== undefined && this.#isNew(place)) this.#add({ place, ...decodeMessage(record) });
    }
  }

  async #readBeyond(epoch: number): Promise<void> {
    const gte = `${this.#prefix}${this.#frontier}${this.#frontier === '' ? '' : '\0'}`;
    const range = { gte, lt: afterPrefix(this.#prefix) };
    // The messages behind a damaged one are delivered; it stays where it is until the storage is repaired.
    const iterator = await this.#records.iterator(range, this.#records.passingOver, this.#work);
    let page: [string, Buffer][];
    try {
      page = await iterator.nextv(PAGE);
    } finally {
      await iterator.close();
    }
    if (epoch !== this.#epoch) return;
    const now = this.#now();
    this.#isDry = page.length === 0;
    this.#nextDue = undefined;
    for (const [key, record] of page) {
      const place = key.slice(this.#prefix.length);
      const due = dueOf(place);
      if (due > now) {
        this.#isDry = true;
        this.#nextDue = due;
        return;
      }
      this.#frontier = place;
      if (this.#isNew(place)) this.#add({ place, ...decodeMessage(record) });
    }
  }

  /** Whether a message that was read is free: no consumer holds it, and it was not settled while it was read. */
  #isNew(place: string): boolean {
    return !this.#held.has(place) && !this.#settledDuringFill.has(place);
  }
}
