export type * from './bindings/bucket/types.js';
export { EdgeError, type EdgeErrorCode } from './quotas/errors.js';
