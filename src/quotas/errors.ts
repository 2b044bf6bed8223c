/**
 * The one table of error codes. A code never changes its meaning and a retired one is never used again;
 * messages may improve at any time. `status` is what an HTTP endpoint answers when the error ends a request.
 */

export const EDGE_ERRORS = {
  // Deploying
  EDGE_SCRIPT_SYNTAX: { status: 400, text: 'the script does not parse' },
  EDGE_SCRIPT_THREW: { status: 400, text: 'the global scope of the script threw' },
  EDGE_SCRIPT_IMPORT: { status: 400, text: 'an import names what is not in the deployment' },
  EDGE_SCRIPT_NO_HANDLER: { status: 400, text: 'the script exports no handler' },
  EDGE_SCRIPT_TOO_LARGE: { status: 413, text: 'the script is larger than the plan allows' },
  EDGE_STARTUP_LIMIT: { status: 400, text: 'parsing and running the global scope took too long' },
  EDGE_CONFIG_INVALID: { status: 400, text: 'the configuration file is not valid' },
  EDGE_NAME_DENIED: { status: 403, text: 'the account may not serve the host name' },
  EDGE_NAME_TAKEN: { status: 409, text: 'the host name belongs to another account' },
  EDGE_ROUTE_TAKEN: { status: 409, text: 'another function answers the same route' },
  EDGE_LIMIT_EXCEEDED: { status: 403, text: 'a limit of the plan does not allow it' },

  // Running
  EDGE_FUNCTION_UNLOADED: { status: 404, text: 'the function is no longer loaded' },
  EDGE_CALLBACK_TIMEOUT: { status: 504, text: 'the application did not answer the function in time' },
  EDGE_HANDLER_THREW: { status: 500, text: 'the handler threw' },
  EDGE_NO_RESPONSE: { status: 500, text: 'the handler returned no Response' },
  EDGE_HANDLER_STALLED: { status: 500, text: 'the handler waits for what can never come' },
  EDGE_CPU_LIMIT: { status: 503, text: 'the invocation used more CPU time than its limit' },
  EDGE_MEMORY_LIMIT: { status: 503, text: 'the isolate used more memory than its limit' },
  EDGE_WALL_TIME_LIMIT: { status: 503, text: 'the invocation took longer than its limit' },
  EDGE_ISOLATE_LOST: { status: 503, text: 'the isolate ended while the invocation was running' },
  EDGE_CELL_LOST: { status: 503, text: 'the process of the account ended while the invocation was running' },
  EDGE_CELL_START: { status: 503, text: 'the process of the account could not be started' },
  EDGE_OVERLOADED: { status: 503, text: 'too much work is waiting' },
  EDGE_PROTOCOL: { status: 502, text: 'the isolate broke the protocol' },
  EDGE_CANCELED: { status: 499, text: 'the invocation was canceled' },
  EDGE_TIMEOUT: { status: 504, text: 'the function did not answer in time' },
  EDGE_RESPONSE_HEADER: { status: 502, text: 'the function answered with a header that HTTP does not allow' },
  EDGE_RESPONSE_STREAM: { status: 502, text: 'the body of the response ended with an error' },

  // Requests
  EDGE_BODY_TOO_LARGE: { status: 413, text: 'Request entity too large' },
  EDGE_URL_TOO_LONG: { status: 414, text: 'the URL is too long' },
  EDGE_HEADERS_TOO_LARGE: { status: 431, text: 'the request headers are too large' },
  EDGE_REQUEST_MALFORMED: { status: 400, text: 'the request is malformed' },
  EDGE_BODY_READ: {
    status: 500,
    text: 'the application has read the body of the request before the function could: host.listener() has to come before what parses bodies, or request.rawBody has to be a Buffer of all of it',
  },
  EDGE_RATE_LIMITED: { status: 429, text: 'too many requests' },
  EDGE_DAILY_LIMIT: { status: 429, text: 'the daily request limit is reached' },
  EDGE_NO_ROUTE: { status: 404, text: 'no function is attached to the URL' },

  // What a function asks of the host
  EDGE_SUBREQUEST_LIMIT: { status: 500, text: 'too many subrequests' },
  EDGE_CONNECTION_CANCELED: { status: 500, text: 'the connection was canceled to break a deadlock' },
  EDGE_EGRESS_DENIED: { status: 502, text: 'the egress policy does not allow the address' },
  EDGE_LOOP: { status: 508, text: 'functions fetched each other too deeply' },
  EDGE_EGRESS_FAILED: { status: 502, text: 'the outgoing request failed' },
  EDGE_NOT_SUPPORTED: { status: 501, text: 'not supported' },

  // The host itself
  EDGE_CLOSED: { status: 503, text: 'the host is closed' },
  EDGE_STORAGE_LOCKED: { status: 503, text: 'another host uses the storage directory' },
  EDGE_STORAGE_CORRUPT: { status: 500, text: 'the storage is damaged' },
  EDGE_STORAGE_FORMAT: { status: 500, text: 'the storage has a foreign or newer format' },
  EDGE_STORAGE_ACCESS: { status: 503, text: 'others can read or write the storage directory' },
  EDGE_STORAGE_FULL: { status: 507, text: 'the disk is full' },
  EDGE_SECRETS_KEY: { status: 500, text: 'the key of the stored secrets is missing or another one' },
  EDGE_SANDBOX: { status: 503, text: 'the sandbox asked for is not available' },
  EDGE_INTERNAL: { status: 500, text: 'internal error' },
} as const;

export type EdgeErrorCode = keyof typeof EDGE_ERRORS;

/**
 * An error that an operator or a program reacts to. Decide by `code`, never by `instanceof` or by the message:
 * errors cross processes and realms.
 */
export class EdgeError extends Error {
  readonly code: EdgeErrorCode;
  /** The HTTP status that an endpoint answers when this error ends a request. */
  readonly status: number;
  /** The limit that was passed, when it was one: its name in the table of limits, and figures in its unit. */
  declare readonly limit?: ExceededLimit;
  /** Where in the function's own files, when the error is about them. Lines and columns count from 1. */
  declare readonly location?: SourceLocation;

  constructor(
    code: EdgeErrorCode,
    message: string,
    options?: { cause?: unknown; limit?: ExceededLimit; location?: SourceLocation },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EdgeError';
    this.code = code;
    this.status = EDGE_ERRORS[code].status;
    if (options?.limit !== undefined) this.limit = options.limit;
    if (options?.location !== undefined) this.location = options.location;
  }
}

/** A place in the files of a deployment. */
export interface SourceLocation {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** A limit and the figure that went past it. */
export interface ExceededLimit {
  readonly name: string;
  readonly figure: number;
  readonly allowed: number;
}

/** The `code` property of an unknown error, when it has one that is a string. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

export function isEdgeErrorCode(code: string): code is EdgeErrorCode {
  return Object.hasOwn(EDGE_ERRORS, code);
}
