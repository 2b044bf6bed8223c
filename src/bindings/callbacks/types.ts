/** Functions of the application that a function calls. */

/** Describes the caller of a callback. */
export interface CallbackContext {
  readonly account: string;
  readonly function: string;
  /** The id of the invocation, as in its event. */
  readonly invocation: string;
  /** The props of the call of `fn.fetch()`, else the props of `load()`. */
  readonly props: Readonly<Record<string, unknown>>;
  /** Fires when the result is no longer awaited: the invocation has ended, or the call has timed out (EDGE_CALLBACK_TIMEOUT). */
  readonly signal: AbortSignal;
}

/**
 * A function of the application: gets the one argument of the call, a copy, and answers what the caller gets a copy of. Both are what
 * structuredClone() copies, but regular expressions and boxed primitives; with bytes, and with at most one stream of bytes each. Arguments are
 * written by the account's customer: check them like a request.
 */
export type ApplicationCallback = (args: never, context: CallbackContext) => unknown;

/** By the name that a function calls them by: `env.APP.lookup(args)`. */
export type ApplicationCallbacks = Readonly<Record<string, ApplicationCallback>>;

/** Bounds of the calls of one account, by the owner of the host. */
export interface CallbackOptions {
  /** How long a callback may take to answer, milliseconds. @default 30,000 */
  readonly timeoutMs?: number;
  /** Calls of one account that may be open at once; more are EDGE_OVERLOADED. @default 100 */
  readonly concurrency?: number;
}
