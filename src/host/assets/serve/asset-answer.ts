/** An answer from the files of a function, before its body is read. */
import type { AssetEntry } from '../index/asset-entry.js';

export interface AssetAnswer {
  readonly status: number;
  /** Names in lower case and values in turn. A body has its `content-length`. */
  readonly headers: readonly string[];
  /** Undefined: the answer has no body. */
  readonly body: { readonly entry: AssetEntry; readonly offset: number; readonly length: number } | undefined;
}

/** The part of a request that decides. */
export interface AssetRequest {
  readonly method: string;
  readonly url: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The first value of a header. */
export function headerIn({ headers }: AssetRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}

/** The parts of a request with headers as pairs, or as names and values in turn. */
export function assetRequest(method: string, url: string, pairs: Iterable<readonly [string, string]>): AssetRequest {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase();
    const before = headers[lower];
    headers[lower] = before === undefined ? value : `${before}, ${value}`;
  }
  return { method, url, headers };
}
