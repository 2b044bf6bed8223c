import { afterPrefix, compareKeys, type LevelOperation } from './level-database.js';
import { recordKeys } from './record-keys.js';
import type { RecordStore } from './record-store.js';

export type SublevelOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: unknown }
  | { readonly type: 'delete'; readonly key: string };

/** Records of one part of the host, apart from all other records: string keys, JSON values. */
export interface Sublevel {
  /** undefined: no such key. */
  get(key: string): Promise<unknown>;
  /** On disk when it resolves. */
  put(key: string, value: unknown): Promise<void>;
  /** On disk when it resolves. */
  delete(key: string): Promise<void>;
  /** All or none; on disk when it resolves. */
  batch(operations: readonly SublevelOperation[]): Promise<void>;
  /** Written with the next durable write, or a second later. A crash before that loses it. For counters. */
  putSoon(key: string, value: unknown): void;
  /** In the order of the keys' UTF-8 bytes. A snapshot of the time at which the first entry is requested. */
  entries(options?: {
    readonly prefix?: string;
    /** Exclusive. */
    readonly after?: string;
    /** @default no limit */
    readonly limit?: number;
  }): AsyncIterable<readonly [key: string, value: unknown]>;
}

export function sublevel(records: RecordStore, name: string): Sublevel {
  const root = recordKeys.sublevel(name);
  const encodeOperation = (operation: SublevelOperation): LevelOperation =>
    operation.type === 'put'
      ? { type: 'put', key: root + operation.key, value: encode(operation.key, operation.value) }
      : { type: 'del', key: root + operation.key };
  const batch = async (operations: readonly SublevelOperation[]) => {
    const encoded = operations.map(encodeOperation);
    if (encoded.some(one => one.type === 'put')) await records.reserveSpace(encoded);
    await records.commit(encoded);
  };
  return {
    async get(key) {
      const value = await records.get(root + key);
      return value === undefined ? undefined : decode(value);
    },
    put: (key, value) => batch([{ type: 'put', key, value }]),
    delete: key => batch([{ type: 'delete', key }]),
    batch,
    putSoon: (key, value) => records.enqueueDeferred([encodeOperation({ type: 'put', key, value })]),
    async *entries({ prefix = '', after, limit = Number.POSITIVE_INFINITY } = {}) {
      const from = root + prefix;
      // U+0000 is the smallest string that can follow.
      const next = after === undefined ? from : `${root}${after}\0`;
      let left = limit;
      if (left <= 0) return;
      for await (const page of records.pages(
        { gte: compareKeys(next, from) > 0 ? next : from, lt: afterPrefix(from) },
        Math.min(left, 1000),
      )) {
        for (const [key, value] of page) {
          yield [key.slice(root.length), decode(value)];
          if (--left <= 0) return;
        }
      }
    },
  };
}

function encode(key: string, value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  if (text === undefined)
    throw new TypeError(`Cannot store "${key}": JSON cannot represent a value of type ${typeof value}`);
  return Buffer.from(text);
}

function decode(value: Buffer): unknown {
  return JSON.parse(value.toString());
}
