/** The counters of one function on one day, while they are being added to. */
import { DAY_MS } from './usage-day.js';
import { addSlots, newSlots, type UsageSlots } from './usage-slots.js';

export class UsageRow {
  readonly account: string;
  readonly name: string;
  readonly day: number;
  /** Milliseconds since 1970: the day begins then. */
  readonly fromMs: number;
  /** The next day begins then. */
  readonly endMs: number;
  /** Added since the last {@link settle}. */
  readonly added: UsageSlots = newSlots();
  /** Includes the stored sum of the day when it is `isBased`. The row is written as this total, so that writing it twice counts once. */
  readonly total: UsageSlots = newSlots();
  /** `total` includes the sums of the day that the storage has. */
  isBased = false;
  /** Some of it is not written yet. */
  isChanged = false;
  /** It has left memory: later usage is added to another row, which begins with the sum that this one has written. */
  isClosed = false;
  /** Set when the account has too many names on this day: its usage is added there. */
  overflow: UsageRow | undefined;

  constructor(account: string, name: string, day: number) {
    this.account = account;
    this.name = name;
    this.day = day;
    this.fromMs = day * DAY_MS;
    this.endMs = this.fromMs + DAY_MS;
  }

  /** Moves the usage added since the last call into the total, and into `sums` too. */
  settle(sums: readonly UsageSlots[]): void {
    for (const sum of sums) addSlots(sum, this.added);
    addSlots(this.total, this.added);
    this.added.fill(0);
  }
}
