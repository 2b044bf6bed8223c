/** Says once for each limit that an invocation is near it, before anything fails. */

import { formatValue } from './limit-error.js';
import { type LimitName, limitRow } from './limits.js';

/** From this share of a limit on, an invocation's event carries a warning. */
export const WARNING_SHARE = 0.8;

/** An invocation that used most of a limit. Values are in the unit of the limit's row. */
export interface LimitWarning {
  readonly limit: LimitName;
  /** The value when 80 % were reached. */
  readonly actual: number;
  readonly allowed: number;
  /** `number of subrequests is 40 of 50, option limits.subrequests` */
  readonly message: string;
}

/** The warnings of one invocation. Costs a comparison until there is one. */
export class LimitWarnings {
  #warnings: LimitWarning[] | undefined;

  /** In the order in which they arose. */
  get all(): readonly LimitWarning[] {
    return this.#warnings ?? NONE;
  }

  /** Takes warnings that were noted elsewhere. They replace the warnings of the same limits here. */
  take(warnings: readonly LimitWarning[]): void {
    if (warnings.length === 0) return;
    const taken = new Set(warnings.map(({ limit }) => limit));
    this.#warnings = [...this.all.filter(({ limit }) => !taken.has(limit)), ...warnings];
  }

  /** Notes the usage of a limit; warns the first time that it is 80 % or more. */
  note(limit: LimitName, actual: number, allowed: number): void {
    if (actual < allowed * WARNING_SHARE || allowed === 0) return;
    if (this.#warnings?.some(warning => warning.limit === limit) === true) return;
    const { label, unit } = limitRow(limit);
    const message = `${label} is ${formatValue(actual, unit)} of ${formatValue(allowed, unit)}, option limits.${limit}`;
    this.#warnings ??= [];
    this.#warnings.push({ limit, actual, allowed, message });
  }
}

const NONE: readonly LimitWarning[] = Object.freeze([]);
