/**
 * The one table of error codes. A code never changes its meaning and a retired one is never used again;
 * messages may improve at any time. `status` is what an HTTP endpoint answers when the error ends a request;
 * `text` says what happened and `remedy` what the owner or the author does about it, in Markdown with links as of docs/errors.md.
 */

export const EDGE_ERRORS = {
  // Deploying
  EDGE_SCRIPT_SYNTAX: {
    status: 400,
    text: 'the script does not parse',
    remedy:
      'Correct the place that the message names. TypeScript and JSX are compiled and `require()` is bundled first: `edgehost dev`, or esbuild with `format: "esm"`.',
  },
  EDGE_SCRIPT_THREW: {
    status: 400,
    text: 'the global scope of the script threw',
    remedy:
      'Read the `cause` and the place in `location`. Requests, timers and random values belong into handlers, not into the global scope.',
  },
  EDGE_SCRIPT_IMPORT: {
    status: 400,
    text: 'an import names a module that is not in the deployment, or a type that the module does not have',
    remedy:
      'Add the module to `modules`, correct the name, or bundle the package. Modules of Node (`node:*`) do not exist in functions.',
  },
  EDGE_SCRIPT_NO_HANDLER: {
    status: 400,
    text: 'the script exports no handler',
    remedy:
      'Export an object with the handler that the event needs as the default, `export default { fetch() { ... } }`, or call `addEventListener("fetch", ...)`.',
  },
  EDGE_SCRIPT_TOO_LARGE: {
    status: 413,
    text: 'the script is larger than the plan allows',
    remedy: 'Minify the bundle, leave `sourcesContent` out of the source map, or raise `limits.scriptBytes`.',
  },
  EDGE_BUNDLE_LIMIT: {
    status: 400,
    text: 'bundling the files of a function took too much time or memory, or its output was too long',
    remedy: 'Import less, or bundle the files before you load them: [how](from-workers.md#how-to-bundle).',
  },
  EDGE_STARTUP_LIMIT: {
    status: 400,
    text: 'parsing and running the global scope took too long',
    remedy:
      'Move work out of the global scope into the first request; import less. `fn.startupTimeMs` has the usual value.',
  },
  EDGE_CONFIG_INVALID: {
    status: 400,
    text: 'the configuration file is not valid',
    remedy:
      'Correct the key at the line and column that the message names. `edgehost check` reads the file without loading it.',
  },
  EDGE_NAME_DENIED: {
    status: 403,
    text: 'the account may not serve the host name',
    remedy: 'Give the account the host name: option `zones` of `host.account()`.',
  },
  EDGE_NAME_TAKEN: {
    status: 409,
    text: 'the host name belongs to another account',
    remedy: 'Choose another host name, or remove it from the account that has it.',
  },
  EDGE_ROUTE_TAKEN: {
    status: 409,
    text: 'another function answers the same route',
    remedy: 'Change one of the two routes; the message names the other function.',
  },
  EDGE_LIMIT_EXCEEDED: {
    status: 403,
    text: 'a limit of the plan does not allow it',
    remedy:
      'Use less of what the message names, or let the owner of the host raise the limit (`limits`, or `caps` for what customers set).',
  },

  // Running
  EDGE_FUNCTION_UNLOADED: {
    status: 404,
    text: 'the function is no longer loaded',
    remedy: 'Load the function again by its name, or stop using its handle.',
  },
  EDGE_ASSETS_CHANGED: {
    status: 500,
    text: 'a static file has changed since its function was loaded',
    remedy: 'Load the function again after its files have changed. `edgehost dev` does so by itself.',
  },
  EDGE_CALLBACK_TIMEOUT: {
    status: 504,
    text: 'the application did not answer the function in time',
    remedy: 'Answer faster in the application, or raise `callbacks.timeoutMs`.',
  },
  EDGE_TOOL_UNKNOWN: {
    status: 404,
    text: 'the code calls a tool that the sandbox does not have',
    remedy: 'Call the tool that the message names, or add it to `tools`; `box.types` has all of them.',
  },
  EDGE_TOOL_INPUT: {
    status: 400,
    text: 'the input of a tool does not satisfy its schema',
    remedy: 'Pass what the message names at the place that it names. `box.types` has the types of all inputs.',
  },
  EDGE_TOOL_OUTPUT: {
    status: 500,
    text: 'the output of a tool does not satisfy its schema',
    remedy: 'Correct `run` of the tool, or its `output`. The code gets this error in place of the answer.',
  },
  EDGE_REPLAY_DIVERGED: {
    status: 500,
    text: 'the code of a paused run did not do the same as before when it was run again',
    remedy:
      'The message has the first call that differs. Keys that the code generates and tools that were changed can be the reason; begin a new run.',
  },
  EDGE_RUN_NOT_FOUND: {
    status: 404,
    text: 'there is no such paused run',
    remedy:
      'It has ended, was deleted or has expired (`pausedMs`), or another sandbox has it. `sandbox.paused()` lists those that there are.',
  },
  EDGE_RUN_BUSY: {
    status: 409,
    text: 'the paused run is being resumed already',
    remedy: 'Wait for the other call of `resume()`: it has the result.',
  },
  EDGE_HANDLER_THREW: {
    status: 500,
    text: 'the handler threw',
    remedy:
      'Read the `cause` (name, message, stack of the function) and `location`; the `invocation` event has the same.',
  },
  EDGE_NO_RESPONSE: {
    status: 500,
    text: 'the handler returned no Response',
    remedy: 'Return a `Response` from `fetch()` on every path.',
  },
  EDGE_HANDLER_STALLED: {
    status: 500,
    text: 'the handler waits for a promise that can never settle',
    remedy: 'Look for a promise that nothing settles: a missing `resolve()`, or a wait for another request.',
  },
  EDGE_CPU_LIMIT: {
    status: 503,
    text: 'the invocation used more CPU time than its limit',
    remedy:
      'Do less for one request, or raise `limits.cpuMs`. Occasional overruns are allowed up to `limits.cpuOverrunMs`.',
  },
  EDGE_MEMORY_LIMIT: {
    status: 503,
    text: 'the isolate used more memory than its limit',
    remedy:
      'Stream bodies in place of reading them whole, keep less in global variables, or raise `limits.memoryBytes`.',
  },
  EDGE_WALL_TIME_LIMIT: {
    status: 503,
    text: 'the invocation took longer than its limit',
    remedy: 'Finish earlier, or raise `limits.wallMs`; for requests in which nothing moves, `idleHttpMs`.',
  },
  EDGE_ISOLATE_LOST: {
    status: 503,
    text: 'the isolate ended while the invocation was running',
    remedy:
      'Retry where that is safe. Another invocation of the same isolate passed a limit; its own event says which.',
  },
  EDGE_CELL_LOST: {
    status: 503,
    text: 'the process of the account ended while the invocation was running',
    remedy:
      'Retry where that is safe. If it happens again, the message and the `warning` event say why the process ended.',
  },
  EDGE_CELL_START: {
    status: 503,
    text: 'the process of the account could not be started',
    remedy:
      'Read the reason in the message: memory, the number of processes, or a sandbox command that does not work. EdgeHost needs Node.js itself, not Bun or Deno.',
  },
  EDGE_DESCRIPTOR_LIMIT: {
    status: 503,
    text: 'the operating system allows no more descriptors',
    remedy:
      'Raise the limit that the message names (`ulimit -n`, `LimitNOFILE=` of systemd, `--ulimit nofile=` of Docker), or lower `reservedDescriptors` if the application needs fewer: [how many an account takes](deploying.md#descriptors-processes-and-threads).',
  },
  EDGE_TASK_LIMIT: {
    status: 503,
    text: 'the operating system allows no more processes and threads',
    remedy:
      'Raise the limit that the message names (`pids_limit` or `--pids-limit` of containers, `TasksMax=` of systemd, `ulimit -u`), or lower `reservedTasks` if the application needs fewer: [how many an account takes](deploying.md#descriptors-processes-and-threads).',
  },
  EDGE_OVERLOADED: {
    status: 503,
    text: 'too much work is waiting',
    remedy:
      'Retry later. The message names the bound (`hostBytes`, `openInvocations`, `openDescriptors`, `sleepingWebSockets`, `maxIsolates`, `maxIsolatesPerAccount`, `memoryBytes`, `callbacks.concurrency`); raise it if the machine can take more.',
  },
  EDGE_PROTOCOL: {
    status: 502,
    text: 'the isolate broke the protocol',
    remedy:
      'Treat the function as hostile if it happens again. If it does so with a harmless function, it is a defect of EdgeHost: report it.',
  },
  EDGE_OBJECT_RESET: {
    status: 503,
    text: 'the instance of the stateful object was given up',
    remedy:
      'Call the object again: a new instance answers. The message says why the old one went: its constructor or `blockConcurrencyWhile()` threw, it called `ctx.abort()`, a write failed, or a limit ended an event of it.',
  },
  EDGE_CANCELED: {
    status: 499,
    text: 'the invocation was canceled',
    remedy: 'None when the client left. Where `waitUntil` was cut off, finish sooner or raise `limits.waitUntilMs`.',
  },
  EDGE_TIMEOUT: {
    status: 504,
    text: 'the function did not answer in time',
    remedy: 'Raise `timeoutMs` of `fn.fetch()` or `host.listener()`, or make the function answer sooner.',
  },
  EDGE_RESPONSE_HEADER: {
    status: 502,
    text: 'the function answered with a header that HTTP does not allow',
    remedy: 'Remove line breaks and control characters from the header that the message names.',
  },
  EDGE_RESPONSE_STREAM: {
    status: 502,
    text: 'the body of the response ended with an error',
    remedy: 'Look at what writes the body: its stream failed, or `limits.responseBytes` was passed.',
  },

  // Requests
  EDGE_BODY_TOO_LARGE: {
    status: 413,
    text: 'Request entity too large',
    remedy: 'Send less, upload in parts, or raise `limits.bodyBytes`, which goes by the zone plan.',
  },
  EDGE_URL_TOO_LONG: {
    status: 414,
    text: 'the URL is too long',
    remedy: 'Send parameters in the body, or raise `limits.urlBytes`.',
  },
  EDGE_HEADERS_TOO_LARGE: {
    status: 431,
    text: 'the request headers are too large',
    remedy:
      'Send fewer or shorter headers (cookies are usual), or raise `limits.headersBytes` and the `maxHeaderSize` of `http.createServer()`.',
  },
  EDGE_REQUEST_MALFORMED: {
    status: 400,
    text: 'the request is malformed',
    remedy: 'Correct what the message names: the URL, the `Host` header, or a header that contradicts another.',
  },
  EDGE_WEBSOCKET_VERSION: {
    status: 426,
    text: 'the version of the WebSocket protocol is not 13',
    remedy: 'Send `Sec-WebSocket-Version: 13`, which the answer names.',
  },
  EDGE_BODY_READ: {
    status: 500,
    text: 'the application has read the body of the request before the function could: host.listener() must come before the parser of bodies, or request.rawBody must be a Buffer of all of it',
    remedy: 'Put `host.listener()` before the body parser, or keep the bytes: [frameworks](frameworks.md).',
  },
  EDGE_BODY_UNREAD: {
    status: 500,
    text: 'the application did not read the body',
    remedy:
      'Read the body of every response, stream and object that you ask for, or call `body.cancel()`. `unreadMs` of the host is the time for it.',
  },
  EDGE_RATE_LIMITED: {
    status: 429,
    text: 'too many requests',
    remedy:
      'Wait for `Retry-After`. The limits are `requestsPerMinute` and `addressRequestsPerSecond`; behind a proxy the latter needs `trustProxy`.',
  },
  EDGE_DAILY_LIMIT: {
    status: 429,
    text: 'the daily request limit is reached',
    remedy:
      'Wait until midnight UTC, or choose another plan or `limits.requestsPerDay`. A fail-open route continues without the function.',
  },
  EDGE_NO_ROUTE: {
    status: 404,
    text: 'no function is attached to the URL',
    remedy: 'Add a route for the URL, or pass `function` or a `next` callback to the listener.',
  },

  // Calls that a function makes of the host
  EDGE_SUBREQUEST_LIMIT: {
    status: 500,
    text: 'too many subrequests',
    remedy:
      'Make fewer calls for one request (redirects count), or raise `limits.subrequests` or `limits.internalSubrequests`.',
  },
  EDGE_CONNECTION_CANCELED: {
    status: 500,
    text: 'the connection was canceled to break a deadlock',
    remedy: 'Read or cancel the body of each response before opening more than six connections.',
  },
  EDGE_EGRESS_DENIED: {
    status: 502,
    text: 'the egress policy does not allow the destination, or a secret there',
    remedy:
      'The message names the option that would allow it: `egress.allow` of the host for addresses (by default the public internet), or [`egress.hosts` and `egress.secrets`](egress.md#hosts-by-name) of the account or the function.',
  },
  EDGE_LOOP: {
    status: 508,
    text: 'functions fetched or called each other too deeply',
    remedy: 'Find the functions that fetch or call each other; the message names how deep they went.',
  },
  EDGE_EGRESS_FAILED: {
    status: 502,
    text: 'the outgoing request failed',
    remedy:
      'Read the message: the name did not resolve, the server did not answer, or it broke HTTP. Handle it in the function with `try`.',
  },
  EDGE_NOT_SUPPORTED: {
    status: 501,
    text: 'not supported',
    remedy: 'Do not use what the message names: [what functions have](functions.md).',
  },

  // The host itself
  EDGE_CLOSED: {
    status: 503,
    text: 'the host is closed',
    remedy: 'Make a new `EdgeHost`. At a shutdown stop accepting requests before `host.close()`.',
  },
  EDGE_STORAGE_LOCKED: {
    status: 503,
    text: 'another host uses the storage directory',
    remedy:
      'Give each process a storage directory of its own, or give all of them `backend: "process"`: [several processes](deploying.md#several-processes).',
  },
  EDGE_SERVICES_START: {
    status: 503,
    text: 'the backend process of the storage directory could not be started',
    remedy:
      'Read the reason in the message: memory, the number of processes, a process that is stopped, or a defect of the installation.',
  },
  EDGE_SERVICES_LOST: {
    status: 503,
    text: 'the backend process of the storage directory has ended, or does not answer',
    remedy:
      'Retry where that is safe: a write may have been done; calls that change nothing have been tried again already. Another process is started at once. If it happens again, the `warning` event says why the process ended.',
  },
  EDGE_SERVICES_VERSION: {
    status: 503,
    text: 'the backend process of the storage directory is of another version of EdgeHost',
    remedy:
      'End all applications on the directory before the new version starts: [processes](deploying.md#the-processes-of-a-storage-directory).',
  },
  EDGE_STORAGE_CORRUPT: {
    status: 500,
    text: 'the storage is damaged',
    remedy: 'Stop the host, then `edgehost repair DIR --copy BACKUP`: [repair](cli.md#edgehost-repair).',
  },
  EDGE_STORAGE_FORMAT: {
    status: 500,
    text: 'the storage has a foreign or newer format',
    remedy: 'Check the path; open the directory with the version of EdgeHost that wrote it, or a newer one.',
  },
  EDGE_STORAGE_ACCESS: {
    status: 503,
    text: 'others can read or write the storage directory',
    remedy: 'Give the directory to the user of the application and remove the permissions of others: `chmod 700 DIR`.',
  },
  EDGE_STORAGE_DENIED: {
    status: 503,
    text: 'the application may not read or write the storage directory',
    remedy:
      'Give the directory to the user that the message names (`chown -R USER DIR`), or mount a volume that can be written: [containers](deploying.md#containers).',
  },
  EDGE_STORAGE_PATH: {
    status: 503,
    text: 'the path of the storage is not the path of a directory',
    remedy: 'Set the option `storage` to a directory that exists or can be made, and `TMPDIR` to one that exists.',
  },
  EDGE_STORAGE_IO: {
    status: 503,
    text: 'the disk of the storage reports an error',
    remedy:
      'Look into the log of the system (`dmesg`) and check the disk. Then read everything: `edgehost repair DIR --check`.',
  },
  EDGE_STORAGE_DESCRIPTORS: {
    status: 503,
    text: 'the storage can open no more files',
    remedy: 'Raise the limit of open files of the process: `ulimit -n`, or `LimitNOFILE=` of its service.',
  },
  EDGE_STORAGE_FULL: {
    status: 507,
    text: 'the disk is full',
    remedy: 'Free space on the disk of the storage directory. Reading and deleting still work.',
  },
  EDGE_ACCOUNT_REMOVED: {
    status: 404,
    text: 'the account was removed',
    remedy:
      'Stop using the objects of the account: its functions, buckets and the `Account` itself. `host.account()` makes an account of the same id.',
  },
  EDGE_STORAGE_QUOTA: {
    status: 507,
    text: 'the account may not store more',
    remedy:
      'Delete objects or abort uploads, which frees space at once, or let the owner of the host raise `limits.storageBytes` or `limits.storageObjects`.',
  },
  EDGE_SECRETS_KEY: {
    status: 500,
    text: 'the key of the stored secrets is missing or a different one',
    remedy: 'Give the `secretsKey` with which the secrets were stored, or restore its file from a backup.',
  },
  EDGE_SANDBOX: {
    status: 503,
    text: 'the requested sandbox is not available',
    remedy:
      'Install or allow what the message names: [containers](deploying.md#containers). `sandbox: "auto"` runs with the layers that are available.',
  },
  EDGE_PACKAGE_FILES: {
    status: 500,
    text: 'the package was imported without the files that it starts processes from, as in a bundle of the application',
    remedy: 'Keep the package outside of the bundle: [bundlers](deploying.md#bundlers).',
  },
  EDGE_OPTION_FAILED: {
    status: 500,
    text: 'a function that the application gave as an option failed',
    remedy:
      'Correct the function of the option that the message names: it has thrown (see the `cause`), or it has answered with a wrong type.',
  },
  EDGE_INTERNAL: {
    status: 500,
    text: 'internal error',
    remedy:
      'Read the `cause`. If it is neither the disk nor the installation (Node, native builds), it is a defect of EdgeHost: report it.',
  },
} as const;

export type EdgeErrorCode = keyof typeof EDGE_ERRORS;

/** An error that an operator or a program reacts to. Decide by `code`, never by `instanceof` or by the message: errors cross processes and realms. */
export class EdgeError extends Error {
  readonly code: EdgeErrorCode;
  /** The HTTP status that an endpoint answers when this error ends a request. */
  readonly status: number;
  /** The limit that was passed, when it was one: its name in the table of limits, and values in its unit. */
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

/** A limit and the value that went past it. */
export interface ExceededLimit {
  readonly name: string;
  /** The value that went past it, in the unit of the limit. */
  readonly actual: number;
  readonly allowed: number;
}

/** The `code` property of an unknown error, when it has one that is a string. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The text of an unknown error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isEdgeErrorCode(code: string): code is EdgeErrorCode {
  return Object.hasOwn(EDGE_ERRORS, code);
}
