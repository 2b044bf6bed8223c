/** The append-only log of changes. An entry is written in the batch of the change it reports, so neither is without the other. */

import { randomBytes } from 'node:crypto';
import type { CursorInfo } from '../http/envelope.js';
import type { RecordChange, Records } from './records.js';

export interface AuditEntry {
  /** Sorts by time. */
  readonly id: string;
  readonly when: string;
  readonly account: string;
  readonly actor: { readonly token_id: string; readonly token_name: string; readonly address: string | null };
  /** `path` without the query; bodies are never logged, they may hold secrets. */
  readonly action: { readonly method: string; readonly path: string; readonly route: string; readonly status: number };
}

/** The log is append-only: entries are never changed or deleted. */
export class AuditLog {
  readonly #records: Records<AuditEntry>;
  /** Keeps the order of entries of one millisecond. */
  #sequence = 0;

  constructor(records: Records<AuditEntry>) {
    this.#records = records;
  }

  append(entry: Omit<AuditEntry, 'id' | 'when'>, now: Date): RecordChange {
    this.#sequence = (this.#sequence + 1) % 1_000_000;
    const sequence = String(this.#sequence).padStart(6, '0');
    const id = `${String(now.getTime()).padStart(15, '0')}-${sequence}-${randomBytes(3).toString('hex')}`;
    return this.#records.put([entry.account, id], { ...entry, id, when: now.toISOString() }).operation;
  }

  /** The newest first; `cursor` is the id of the last entry of the page before. */
  async list(account: string, limit: number, cursor?: string): Promise<{ entries: AuditEntry[]; info: CursorInfo }> {
    const entries: AuditEntry[] = [];
    let more = false;
    const before = cursor === undefined ? undefined : `${account}/${cursor}`;
    for await (const [, entry] of this.#records.backwards([account], before)) {
      if (entries.length === limit) {
        more = true;
        break;
      }
      entries.push(entry);
    }
    const info = { per_page: limit, count: entries.length };
    const last = entries.at(-1);
    return { entries, info: more && last !== undefined ? { ...info, cursor: last.id } : info };
  }
}
