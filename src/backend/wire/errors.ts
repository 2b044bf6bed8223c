/**
 * Errors between the two processes: an instance of the same class arrives, with the properties that callers read (name, message, code, and the values of an
 * EdgeError about a limit or a file). Causes cross too, since an operator reads them; stacks do not.
 */
import type { BindingRegistry } from '../../bindings/registry.js';
import { EdgeError, type ExceededLimit, isEdgeErrorCode, type SourceLocation } from '../../quotas/errors.js';

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly limit?: ExceededLimit;
  readonly location?: SourceLocation;
  readonly cause?: ErrorFields;
}

/** Restores the errors of bindings, each by its row. */
export type BindingErrors = Pick<BindingRegistry, 'errorFrom'>;

const MAX_CAUSES = 5;

export function encodeError(error: unknown, depth = 0): ErrorFields {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const code: unknown = Reflect.get(error, 'code');
  return {
    name: error.name,
    message: error.message,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(error instanceof EdgeError && error.limit !== undefined && { limit: error.limit }),
    ...(error instanceof EdgeError && error.location !== undefined && { location: error.location }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: encodeError(error.cause, depth + 1) }),
  };
}

/** The other end is one of ours: its fields are what `encodeError` makes. */
export function decodeError(value: unknown, errors: BindingErrors): Error {
  if (!isFields(value)) return new Error('An error that came from another process is malformed');
  const { name, message, code, limit, location } = value;
  const cause = value.cause === undefined ? undefined : decodeError(value.cause, errors);
  if (typeof code === 'string' && isEdgeErrorCode(code)) {
    return new EdgeError(code, message, {
      ...(cause !== undefined && { cause }),
      ...(limit !== undefined && { limit }),
      ...(location !== undefined && { location }),
    });
  }
  const ofBinding = code === undefined ? undefined : errors.errorFrom(code, message);
  const error = ofBinding ?? plainError(name, message);
  if (cause !== undefined) Object.defineProperty(error, 'cause', { value: cause, writable: true, configurable: true });
  if (code !== undefined && ofBinding === undefined) Object.assign(error, { code });
  return error;
}

function isFields(value: unknown): value is ErrorFields {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}

function plainError(name: string, message: string): Error {
  if (name === 'TypeError') return new TypeError(message);
  if (name === 'RangeError') return new RangeError(message);
  const error = new Error(message);
  if (name !== 'Error') error.name = name;
  return error;
}
