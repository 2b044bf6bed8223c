/** The one place where errors of the host (its functions, buckets and storage) become answers of the API. */

import type { BindingRegistry } from '../bindings/registry.js';
import { type EdgeErrorCode, errorCode, isEdgeErrorCode, messageOf } from '../quotas/errors.js';
import { storageError } from '../storage/files/storage-error.js';
import type { ApiCode } from './http/codes.js';
import { ApiError } from './http/envelope.js';

/** Other codes do not concern the caller: they are internal errors. */
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
  EDGE_NAME_DENIED: 'NAME_DENIED',
  EDGE_ROUTE_TAKEN: 'ALREADY_EXISTS',
  EDGE_NOT_SUPPORTED: 'NOT_SUPPORTED',
  EDGE_CELL_LOST: 'UNAVAILABLE',
  EDGE_CELL_START: 'UNAVAILABLE',
  EDGE_ISOLATE_LOST: 'UNAVAILABLE',
  EDGE_OVERLOADED: 'UNAVAILABLE',
  EDGE_DESCRIPTOR_LIMIT: 'UNAVAILABLE',
  EDGE_TASK_LIMIT: 'UNAVAILABLE',
  EDGE_CLOSED: 'UNAVAILABLE',
  EDGE_SERVICES_LOST: 'UNAVAILABLE',
  EDGE_STORAGE_FULL: 'STORAGE_FULL',
  EDGE_STORAGE_QUOTA: 'LIMIT_EXCEEDED',
  EDGE_ACCOUNT_REMOVED: 'NOT_FOUND',
};

/** By the HTTP status of an error of a binding; others are refusals. */
const BY_BINDING_STATUS: Readonly<Record<number, ApiCode>> = {
  404: 'NOT_FOUND',
  409: 'IN_USE',
  413: 'BODY_TOO_LARGE',
};
const INTERNAL = 500;

export function toApiError(error: unknown, bindings: BindingRegistry): ApiError {
  if (error instanceof ApiError) return error;
  const code = errorCode(error);
  // Its message names the other account and its function, which are the concern of the host's owner alone.
  if (code === 'EDGE_NAME_TAKEN') return new ApiError('NAME_TAKEN', undefined, { cause: error });
  if (code !== undefined && isEdgeErrorCode(code)) {
    const known = BY_EDGE_CODE[code];
    // A code of the host's table comes with a message for the owner of the function.
    if (known !== undefined) return new ApiError(known, `${code}: ${messageOf(error)}`, { cause: error });
  }
  const status = bindings.errorStatus(error);
  if (status !== undefined && status !== INTERNAL) {
    return new ApiError(BY_BINDING_STATUS[status] ?? 'BINDING_REFUSED', messageOf(error), { cause: error });
  }
  if (storageError('write', error).code === 'EDGE_STORAGE_FULL') {
    return new ApiError('STORAGE_FULL', 'The disk is full: nothing was changed', { cause: error });
  }
  if (code !== undefined && /^LEVEL_(DATABASE_NOT_OPEN|ITERATOR_NOT_OPEN|BATCH_NOT_OPEN)$/.test(code)) {
    return new ApiError('UNAVAILABLE', 'The host is closed', { cause: error });
  }
  return new ApiError('INTERNAL', undefined, { cause: error });
}
