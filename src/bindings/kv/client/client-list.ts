import { malformedList, textsApart } from '../../wire-texts.js';
import type { WirePage } from './calls.js';

// Captured before function code runs, because it may replace it.
const { parse } = JSON;

/** KvListKey. */
export interface ListedKey {
  name: string;
  expiration?: number;
  metadata?: unknown;
}

/** KvListResult. */
export interface ListedKeys {
  keys: ListedKey[];
  list_complete: boolean;
  cursor?: string;
  cacheStatus: null;
}

/** Throws TypeError when the columns of the answer do not fit each other. */
export function pageOf(head: unknown): ListedKeys {
  const { names, expirations, withMetadata, metadata, cursor } = uncheckedPage(head);
  const texts = textsApart(names);
  const values: unknown[] = parse(metadata);
  if (texts === undefined || values.length !== withMetadata.length) throw malformedList();
  const keys: ListedKey[] = [];
  let expiring = 0;
  let described = 0;
  for (let at = 0; at < texts.length; at++) {
    const key: ListedKey = { name: texts[at] ?? '' };
    const expiration = expirations[expiring];
    if (expiration !== undefined && expiration[0] === at) {
      key.expiration = expiration[1];
      expiring++;
    }
    if (withMetadata[described] === at) key.metadata = values[described++];
    keys[at] = key;
  }
  if (expiring < expirations.length || described < withMetadata.length) throw malformedList();
  return cursor === undefined
    ? { keys, list_complete: true, cacheStatus: null }
    : { keys, list_complete: false, cursor, cacheStatus: null };
}

/** The head comes from the service of the host, which the client trusts. */
function uncheckedPage(head: unknown): WirePage {
  return head as WirePage; // see above
}
