/** A change of an account by one application, which all applications on the storage must follow: they are one host to it. */

import { EdgeError } from '../../quotas/errors.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { decodeValue, encodeValue } from './values.js';

/** Its removal; or options that were changed, as the application has checked them. */
export type AccountChange =
  | { readonly account: string; readonly isRemoved: true }
  | { readonly account: string; readonly update: Readonly<Record<string, unknown>> };

export interface NumberedChange {
  /** In the order in which they are to be followed. */
  readonly number: number;
  readonly change: AccountChange;
}

/** The changes that an application receives when it connects again. */
export interface MissedChanges {
  readonly changes: readonly NumberedChange[];
  /** The last there is. */
  readonly last: number;
  /** Some that it has missed are not kept any more. */
  readonly isPartial: boolean;
}

/** A change as one application receives it. */
export interface ToldChange extends NumberedChange {
  /** It has made the change itself. */
  readonly isOwn: boolean;
}

/** Options may be infinite. */
export function changesText(value: ToldChange | MissedChanges): string {
  return encodeValue(value).text;
}

export function parseToldChange(text: string): ToldChange {
  return decodeValue(text, NO_BYTES) as ToldChange; // of changesText()
}

export function parseMissedChanges(text: string): MissedChanges {
  return decodeValue(text, NO_BYTES) as MissedChanges; // of changesText()
}

/** The error of everything of an account that is gone. */
export function removedError(account: string): EdgeError {
  return new EdgeError('EDGE_ACCOUNT_REMOVED', `Account "${account}" was removed`);
}
