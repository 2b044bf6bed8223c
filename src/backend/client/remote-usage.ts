/**
 * Usage of an application whose storage is in the backend process. Additions to its rows are sent there, and added to the sums of all applications. A message
 * has a number, and is sent again under it until it is answered: it counts once, whichever process is killed meanwhile.
 */
import { randomUUID } from 'node:crypto';
import type { StoredMeter } from '../../usage/stored-bytes.js';
import type { RowWriter } from '../../usage/usage-recorder.js';
import type { UsageRow } from '../../usage/usage-row.js';
import { encodeSlots } from '../../usage/usage-slots.js';
import type { RowPort } from '../../usage/write-rows.js';
import { type SharedUsage, USAGE_CONTRACT, type UsageEntry } from '../wire/shared-usage.js';
import { isLost, type RemoteLink } from './remote-link.js';
import { remotePart } from './remote-part.js';

/** Rows of one message, which the backend process writes in one commit. */
const MESSAGE_ROWS = 100;
const MOST_TRIES = 3;

export class RemoteUsage implements RowWriter {
  readonly #usage: SharedUsage;
  /** Under this name the backend process knows which messages it has had. */
  readonly #sender = randomUUID();
  #lastNumber = 0;
  /** Messages that are not answered, in their order. */
  readonly #unanswered: { readonly number: number; readonly entries: readonly UsageEntry[] }[] = [];
  /** The backend process measures the stored data of the accounts. */
  readonly meter: StoredMeter;

  constructor(link: RemoteLink) {
    this.#usage = remotePart(link, 'usage', USAGE_CONTRACT);
    this.meter = new RemoteMeter(this.#usage);
  }

  async writeRows(rows: readonly UsageRow[], port: RowPort): Promise<void> {
    const entries = rows.flatMap((row): UsageEntry[] => {
      port.settle(row);
      row.isChanged = false;
      if (row.total.every(value => value === 0)) return [];
      const text = encodeSlots(row.total).toString();
      row.total.fill(0);
      return [[row.account, row.name, row.day, text]];
    });
    for (let at = 0; at < entries.length; at += MESSAGE_ROWS)
      this.#unanswered.push({ number: ++this.#lastNumber, entries: entries.slice(at, at + MESSAGE_ROWS) });
    for (let [next] = this.#unanswered; next !== undefined; [next] = this.#unanswered) {
      await this.#add(next.number, next.entries);
      this.#unanswered.shift();
    }
  }

  /** Also when several processes are lost, one after the other. */
  async #add(number: number, entries: readonly UsageEntry[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#usage.add(this.#sender, number, entries);
        return;
      } catch (error) {
        if (!isLost(error) || tries >= MOST_TRIES) throw error;
      }
    }
  }

  async close(): Promise<void> {
    if (this.#lastNumber === 0 || this.#unanswered.length > 0) return;
    await this.#usage.left(this.#sender).catch(() => {}); // it is forgotten some days later
  }
}

class RemoteMeter implements StoredMeter {
  readonly #usage: SharedUsage;
  #changed = new Set<string>();

  constructor(usage: SharedUsage) {
    this.#usage = usage;
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  noteChange(account: string): void {
    this.#changed.add(account);
  }

  async write(): Promise<void> {
    if (!this.hasChanged) return;
    const accounts = this.#changed;
    this.#changed = new Set();
    try {
      await this.#usage.measure([...accounts]);
    } catch (error) {
      for (const account of accounts) this.#changed.add(account);
      throw error;
    }
  }
}
