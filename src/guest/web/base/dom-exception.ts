/** DOMException. @see https://webidl.spec.whatwg.org/#idl-DOMException */
import { rememberStack } from '../../errors.ts';
import {
  construct,
  ErrorCtor,
  RangeErrorCtor,
  setPrototypeOf,
  TypeErrorCtor,
  uncurry,
  WeakMapCtor,
  weakMapGet,
  weakMapSet,
} from '../../primordials.ts';
import { defineConstants, defineInterface, toDictionary, toDOMString, toDouble } from './idl.ts';

/** The legacy codes by constant; a name has the code of its constant, all others have 0. */
const CODES = {
  INDEX_SIZE_ERR: 1,
  DOMSTRING_SIZE_ERR: 2,
  HIERARCHY_REQUEST_ERR: 3,
  WRONG_DOCUMENT_ERR: 4,
  INVALID_CHARACTER_ERR: 5,
  NO_DATA_ALLOWED_ERR: 6,
  NO_MODIFICATION_ALLOWED_ERR: 7,
  NOT_FOUND_ERR: 8,
  NOT_SUPPORTED_ERR: 9,
  INUSE_ATTRIBUTE_ERR: 10,
  INVALID_STATE_ERR: 11,
  SYNTAX_ERR: 12,
  INVALID_MODIFICATION_ERR: 13,
  NAMESPACE_ERR: 14,
  INVALID_ACCESS_ERR: 15,
  VALIDATION_ERR: 16,
  TYPE_MISMATCH_ERR: 17,
  SECURITY_ERR: 18,
  NETWORK_ERR: 19,
  ABORT_ERR: 20,
  URL_MISMATCH_ERR: 21,
  QUOTA_EXCEEDED_ERR: 22,
  TIMEOUT_ERR: 23,
  INVALID_NODE_TYPE_ERR: 24,
  DATA_CLONE_ERR: 25,
} as const;

const CODE_BY_NAME: { readonly [name: string]: number } = {
  __proto__: null,
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
} as never; // __proto__: null makes it an object without inherited names

/** Whether the value is a DOMException of this realm, independent of its prototype. */
export function isDOMException(value: unknown): value is DOMException {
  return typeof value === 'object' && value !== null && weakMapHas(fields, value);
}

interface Fields {
  readonly message: string;
  readonly name: string;
}

const fields = new WeakMapCtor<object, Fields>();
const weakMapHas = uncurry(WeakMap.prototype.has) as (self: WeakMap<object, Fields>, key: object) => boolean;

function fieldsOf(exception: DOMException): Fields {
  const found = weakMapGet(fields, exception);
  if (found === undefined) throw new TypeErrorCtor('The receiver is not a DOMException');
  return found;
}

export class DOMException {
  constructor(message: unknown = '', name: unknown = 'Error') {
    const own = { message: toDOMString(message), name: toDOMString(name) };
    // An object of the Error constructor has the slot by which Error.isError() and the engine know errors.
    const exception = construct(ErrorCtor, [], new.target) as this; // it has the prototype of new.target
    weakMapSet(fields, exception, own);
    rememberStack(exception);
    // biome-ignore lint/correctness/noConstructorReturn: see above
    return exception;
  }

  get name(): string {
    return fieldsOf(this).name;
  }

  get message(): string {
    return fieldsOf(this).message;
  }

  get code(): number {
    return CODE_BY_NAME[fieldsOf(this).name] ?? 0;
  }
}

setPrototypeOf(DOMException.prototype, Error.prototype);
defineConstants(DOMException, CODES);
defineInterface(DOMException);

/** @see https://webidl.spec.whatwg.org/#quotaexceedederror */
export class QuotaExceededError extends DOMException {
  readonly #quota: number | null;
  readonly #requested: number | null;

  constructor(message: unknown = '', options: unknown = undefined) {
    super(message, 'QuotaExceededError');
    const { quota, requested } = toDictionary(options, 'The options of the QuotaExceededError') ?? {};
    this.#quota = toAmount(quota, 'The quota');
    this.#requested = toAmount(requested, 'The requested amount');
    if (this.#quota !== null && this.#requested !== null && this.#requested < this.#quota) {
      throw new RangeErrorCtor('The requested amount is less than the quota');
    }
  }

  get quota(): number | null {
    return this.#quota;
  }

  get requested(): number | null {
    return this.#requested;
  }
}

defineInterface(QuotaExceededError);

function toAmount(value: unknown, what: string): number | null {
  if (value === undefined) return null;
  const amount = toDouble(value, what);
  if (amount < 0) throw new RangeErrorCtor(`${what} is negative`);
  return amount;
}
