import { LIMITS } from '../../quotas/limits.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';

/** The limits of buckets that are the same for every plan. */
export const BUCKET_LIMITS = {
  /** A key, in UTF-8. */
  keyBytes: 1024,
  /** Keys and values of the custom metadata together, in UTF-8. */
  customMetadataBytes: 8192,
  /** One put or one part: 5 GiB less 5 MiB. */
  uploadBytes: 5 * 2 ** 30 - 5 * 2 ** 20,
  /** A whole object: 5 TiB less 5 GiB. */
  objectBytes: 5 * 2 ** 40 - 5 * 2 ** 30,
  partNumber: 10_000,
  /** Every part but the last. */
  minPartBytes: 5 * 2 ** 20,
  deleteKeys: 1000,
  /** A page ends early when the requested metadata is larger. */
  listMetadataBytes: 256 * 1024,
  /** The record of an upload stays for this time after its end, so that a late call gets the error that it was completed or aborted. */
  uploadMemoryMs: LIMITS.multipartUploadMs.values.standard,
  /** The six HTTP metadata fields together. The specification has no such limit. */
  httpMetadataBytes: 8192,
} as const;

/** The limits of buckets that are limits of the account or the function, and can be overridden. */
export type BucketPlanLimits = Pick<ResolvedLimits, 'listEntries' | 'multipartUploadMs'> & StorageBounds;

export const DEFAULT_PLAN_LIMITS: BucketPlanLimits = {
  listEntries: LIMITS.listEntries.values.standard,
  multipartUploadMs: LIMITS.multipartUploadMs.values.standard,
  storageBytes: LIMITS.storageBytes.values.standard,
  storageObjects: LIMITS.storageObjects.values.standard,
  plan: 'standard',
};

/**
 * Listings by "/" are indexed when their prefix has fewer slashes than `depths`, and up to the last slash at most `prefixCharacters` UTF-16 units.
 * Others seek from group to group. A new key writes a small record for each indexed listing that it changes.
 */
export const INDEXED = { depths: 8, prefixCharacters: 256 } as const;
