/**
 * Paused runs of a sandbox at rest: their ledgers, sealed with the key of the storage, in a key-value namespace of the account. Therefore they count towards
 * its bytes, expire, and are removed with the account. Nothing of them is in memory.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { takeApart } from '../../../bindings/callbacks/call-body.js';
import { countedBytes, decodeInSlices } from '../../../bindings/callbacks/decode-in-slices.js';
import type { KvNamespace } from '../../../bindings/kv/types.js';
import { isPlain, openWith, sealWith } from '../../../management/state/secret-cipher.js';
import { EdgeError } from '../../../quotas/errors.js';
import type { AccountWork } from '../../../quotas/host/call-work.js';
import type { PausedRun } from '../types.js';
import { LEDGER_VERSION, type Ledger } from './ledger.js';
import { bytesOf } from './ledger-bytes.js';

/** The namespace. Functions that are bound to it see sealed texts; a text that was changed, or moved to another key, does not open. */
export const PAUSED_RUNS = 'edgehost-paused-runs';

/** Ids begin with the time, so that a list has the oldest first. */
const TIME_DIGITS = 9;
const ID = /^[0-9a-z]{9}-[0-9a-f]{32}$/;
const PAGE = 100;

export interface PausedRunsParts {
  readonly account: string;
  /** The name of the sandbox. */
  readonly sandbox: string;
  /** How long a run can be resumed. */
  readonly maxMs: number;
  readonly kv: () => KvNamespace;
  /** The key that secrets of the storage are sealed with. */
  readonly secretsKey: () => Promise<Uint8Array>;
  readonly work: AccountWork;
}

export class PausedRuns {
  readonly #parts: PausedRunsParts;
  #key: Promise<Uint8Array> | undefined;

  constructor(parts: PausedRunsParts) {
    this.#parts = parts;
  }

  newId(): string {
    return `${Date.now().toString(36).padStart(TIME_DIGITS, '0')}-${randomBytes(16).toString('hex')}`;
  }

  /** On disk when it resolves. @param id of a run that was paused before, whose ledger is replaced. Rejects as `put()` of the namespace does. */
  async put(id: string, ledger: Ledger): Promise<PausedRun> {
    const { kv, maxMs } = this.#parts;
    const expiresAt = ledger.pausedAt + maxMs;
    const sealed = sealWith(await this.#sealingKey(), JSON.stringify(ledger), this.#place(id));
    await kv().put(this.#keyOf(id), sealed, { expiration: Math.ceil(expiresAt / 1000) });
    return await this.#described(id, ledger, expiresAt);
  }

  /** Undefined for an unknown id. @throws EdgeError EDGE_STORAGE_CORRUPT */
  async get(id: string): Promise<Ledger | undefined> {
    // Another text could name a key of another sandbox.
    if (!ID.test(id)) return undefined;
    const sealed = await this.#parts.kv().get(this.#keyOf(id));
    return sealed === null ? undefined : await this.#open(id, sealed);
  }

  /** Without reading the ledger. */
  async has(id: string): Promise<boolean> {
    if (!ID.test(id)) return false;
    // No other id begins with this one.
    return (await this.#parts.kv().list({ prefix: this.#keyOf(id), limit: 1 })).keys.length > 0;
  }

  /** @param id of a run that is there, or was */
  async delete(id: string): Promise<void> {
    await this.#parts.kv().delete(this.#keyOf(id));
  }

  /** The oldest first. One that is resumed or deleted meanwhile may be left out. */
  async *list(): AsyncGenerator<PausedRun> {
    const kv = this.#parts.kv();
    const prefix = this.#keyOf('');
    let cursor: string | undefined;
    do {
      const page = await kv.list({ prefix, limit: PAGE, ...(cursor !== undefined && { cursor }) });
      for (const { name, expiration } of page.keys) {
        const id = name.slice(prefix.length);
        const ledger = ID.test(id) ? await this.get(id) : undefined;
        if (ledger !== undefined) yield await this.#described(id, ledger, (expiration ?? 0) * 1000);
      }
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor !== undefined);
  }

  async #open(id: string, sealed: string): Promise<Ledger> {
    // Secrets that an earlier release has stored in the clear have this form; no ledger has it.
    const text = isPlain(sealed) ? undefined : openWith(await this.#sealingKey(), sealed, this.#place(id));
    const ledger: Ledger | undefined = text === undefined ? undefined : JSON.parse(text); // sealed by this package
    if (ledger?.version === LEDGER_VERSION) return ledger;
    throw new EdgeError(
      'EDGE_STORAGE_CORRUPT',
      `Cannot open the paused run "${id}": it was changed, or sealed with another key or by another version of EdgeHost`,
    );
  }

  async #described(id: string, { entries, pausedAt, pending }: Ledger, expiresAt: number): Promise<PausedRun> {
    const call = entries[pending];
    if (call?.kind !== 'call') throw new EdgeError('EDGE_STORAGE_CORRUPT', `The paused run "${id}" waits for no call`);
    const { work } = this.#parts;
    const encoded: unknown = JSON.parse(call.input);
    // It refuses what takes too much of the heap, as it did when the call was made.
    countedBytes(encoded, work);
    const parts = await takeApart(bytesOf(call.bytes), call.lengths, 'nothing');
    const { value: input } = await decodeInSlices(encoded, parts, work);
    return { id, tool: call.tool, input, pausedAt, expiresAt };
  }

  #sealingKey(): Promise<Uint8Array> {
    this.#key ??= this.#parts.secretsKey().then(
      key => new Uint8Array(hkdfSync('sha256', key, '', 'edgehost paused runs', 32)),
      (error: unknown) => {
        this.#key = undefined;
        throw error;
      },
    );
    return this.#key;
  }

  #keyOf(id: string): string {
    return `${this.#parts.sandbox}/${id}`;
  }

  #place(id: string): string {
    return `paused run ${this.#parts.account}/${this.#keyOf(id)}`;
  }
}
