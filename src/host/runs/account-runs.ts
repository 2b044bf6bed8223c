/** The runs of one account: its sandboxes, and the threads that all of them share. */
import type { EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import type { KvNamespace } from '../../bindings/kv/types.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import type { EdgeError } from '../../quotas/errors.js';
import type { AccountHost } from '../account-host.js';
import type { AccountLimits } from '../account-limits.js';
import type { AccountCells } from '../cells/account-cells.js';
import { RunThreads } from './run-threads.js';
import { AccountSandbox } from './sandbox.js';

/** Runs of one account at once; more wait for a thread. Each takes a thread, and its memory. */
const MAX_RUN_THREADS = 16;

export interface AccountRunsParts {
  readonly id: string;
  readonly host: AccountHost;
  readonly supervisor: AccountCells;
  /** The limits that the account has when it is called. */
  readonly limits: () => AccountLimits;
  /** The rules that the account has when it is called. */
  readonly egress: () => EgressRules | undefined;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
  /** The application's client of a key-value namespace of the account. */
  readonly kv: (name: string) => KvNamespace;
}

export class AccountRuns {
  readonly #parts: AccountRunsParts;
  readonly #threads: RunThreads;

  constructor(parts: AccountRunsParts) {
    const { id, host, supervisor, limits } = parts;
    this.#parts = parts;
    this.#threads = new RunThreads({
      account: id,
      cache: host.cache,
      max: MAX_RUN_THREADS,
      memoryBytes: () => limits().most.memoryBytes,
      acquire: signal => withoutCaller(() => host.gate.acquire(signal, id, () => supervisor.acquire())),
    });
  }

  /** @throws as `account.sandbox()` does */
  sandbox(options: ConstructorParameters<typeof AccountSandbox>[1]): AccountSandbox {
    const { id, host, limits, egress, check, kv } = this.#parts;
    return new AccountSandbox({ id, host, limits, egress, check, kv, threads: this.#threads }, options);
  }

  /** No run begins any more. */
  close(error: EdgeError): void {
    this.#threads.close(error);
  }
}
