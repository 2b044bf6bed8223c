/** The one place where errors of the host (its functions, buckets and storage) become answers of the API. */

import { type EdgeErrorCode, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import type { ApiCode } from './codes.js';
import { ApiError } from './envelope.js';

/** Codes that are not here are no concern of the caller: internal errors. */
const BY_EDGE_CODE: Readonly<Partial<Record<EdgeErrorCode, ApiCode>>> = {
  EDGE_SCRIPT_SYNTAX: 'SCRIPT_INVALID',
  EDGE_SCRIPT_THREW: 'SCRIPT_INVALID',
  EDGE_SCRIPT_IMPORT: 'SCRIPT_INVALID',
  EDGE_SCRIPT_NO_HANDLER: 'SCRIPT_INVALID',
  EDGE_SCRIPT_TOO_LARGE: 'SCRIPT_TOO_LARGE',
  EDGE_STARTUP_LIMIT: 'STARTUP_LIMIT',
  EDGE_CPU_LIMIT: 'STARTUP_LIMIT',
  EDGE_MEMORY_LIMIT: 'SCRIPT_INVALID',
  EDGE_CONFIG_INVALID: 'CONFIG_INVALID',
  EDGE_LIMIT_EXCEEDED: 'LIMIT_EXCEEDED',
  EDGE_NOT_SUPPORTED: 'NOT_SUPPORTED',
  EDGE_CELL_LOST: 'UNAVAILABLE',
  EDGE_CELL_START: 'UNAVAILABLE',
  EDGE_ISOLATE_LOST: 'UNAVAILABLE',
  EDGE_OVERLOADED: 'UNAVAILABLE',
  EDGE_CLOSED: 'UNAVAILABLE',
  EDGE_STORAGE_FULL: 'STORAGE_FULL',
};

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isStorageFull(error))
    return new ApiError('STORAGE_FULL', 'The disk is full: nothing was changed', { cause: error });
  const code = errorCode(error);
  if (code !== undefined && isEdgeErrorCode(code)) {
    const known = BY_EDGE_CODE[code];
    // A code of the host's table comes with a message for the owner of the function.
    if (known !== undefined) return new ApiError(known, `${code}: ${messageOf(error)}`, { cause: error });
  }
  if (error instanceof Error && error.name === 'BucketError') {
    return new ApiError('BUCKET_INVALID', error.message, { cause: error });
  }
  if (code !== undefined && /^LEVEL_(DATABASE_NOT_OPEN|ITERATOR_NOT_OPEN|BATCH_NOT_OPEN)$/.test(code)) {
    return new ApiError('UNAVAILABLE', 'The host is closed', { cause: error });
  }
  return new ApiError('INTERNAL', undefined, { cause: error });
}

function isStorageFull(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const code = errorCode(at);
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EDGE_STORAGE_FULL') return true;
    // LevelDB reports what the system said as text only.
    if (code?.startsWith('LEVEL_') && /no space left|quota exceeded/i.test(at.message)) return true;
  }
  return false;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
