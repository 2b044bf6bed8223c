/** Counts the subrequests of one invocation (specification: Limits, rule 6). */

import type { EdgeError } from './errors.js';
import { limitError } from './limit-error.js';
import type { LimitWarnings } from './limit-warnings.js';
import type { ResolvedLimits } from './resolve-limits.js';
import { SUBREQUEST_KINDS, type SubrequestKind } from './service-calls.js';

export type SubrequestLimits = Pick<
  ResolvedLimits,
  'plan' | 'subrequests' | 'internalSubrequests' | 'cacheCalls' | 'sqlQueries'
>;

export class SubrequestMeter {
  readonly #limits: SubrequestLimits;
  readonly #warnings: LimitWarnings | undefined;
  readonly #parent: SubrequestMeter | undefined;
  /** The error of the first one that was refused. */
  exceeded: EdgeError | undefined;
  #subrequests = 0;
  #internalSubrequests = 0;
  #cacheCalls = 0;
  #sqlQueries = 0;
  readonly #calls: Partial<Record<SubrequestKind, number>> = {};

  /**
   * @param warnings where it is said that 80 % of a limit are used
   * @param parent the meter of an invocation that this one belongs to: each count here is made there first
   */
  constructor(limits: SubrequestLimits, warnings?: LimitWarnings, parent?: SubrequestMeter) {
    this.#limits = limits;
    this.#parent = parent;
    this.#warnings = warnings;
  }

  /** Subrequests so far, those to internal services not among them. */
  get subrequests(): number {
    return this.#subrequests;
  }

  get internalSubrequests(): number {
    return this.#internalSubrequests;
  }

  get cacheCalls(): number {
    return this.#cacheCalls;
  }

  /** All of them, by kind. Kinds without any are missing. */
  get calls(): Readonly<Partial<Record<SubrequestKind, number>>> {
    return this.#calls;
  }

  /** All of them. */
  get total(): number {
    return this.#subrequests + this.#internalSubrequests;
  }

  /**
   * Counts one subrequest before it is made. One that is refused does not count.
   *
   * @throws EdgeError EDGE_SUBREQUEST_LIMIT when the limit is used up
   */
  count(kind: SubrequestKind): void {
    this.#parent?.count(kind);
    if (SUBREQUEST_KINDS[kind] === 'internalSubrequests') {
      this.#check('internalSubrequests', this.#internalSubrequests + 1);
      if (kind === 'sql') {
        this.#check('sqlQueries', this.#sqlQueries + 1);
        this.#sqlQueries++;
      }
      this.#internalSubrequests++;
      this.#calls[kind] = (this.#calls[kind] ?? 0) + 1;
      return;
    }
    this.#check('subrequests', this.#subrequests + 1);
    if (kind === 'cache') {
      this.#check('cacheCalls', this.#cacheCalls + 1);
      this.#cacheCalls++;
    }
    this.#subrequests++;
    this.#calls[kind] = (this.#calls[kind] ?? 0) + 1;
  }

  #check(limit: Exclude<keyof SubrequestLimits, 'plan'>, actual: number): void {
    const allowed = this.#limits[limit];
    if (actual > allowed) {
      const { plan } = this.#limits;
      const subject = 'make the subrequest';
      const error = limitError('EDGE_SUBREQUEST_LIMIT', { limit, subject, actual, allowed, plan });
      this.exceeded ??= error;
      throw error;
    }
    this.#warnings?.note(limit, actual, allowed);
  }
}
