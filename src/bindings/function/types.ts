/** Service bindings: other functions, as a function calls them. */

/** The function behind a service binding. */
export interface ServiceTarget {
  /** Its name. It need not be loaded before the function that calls it. */
  readonly function: string;
  /** The export of its main module that is called. @default 'default' */
  readonly entrypoint?: string;
  /** The value of `ctx.props` of the function called: a JSON object of up to 64 KiB. @default {} */
  readonly props?: Readonly<Record<string, unknown>>;
  /**
   * The account of the function. A function of another account must name the account of the caller in its option `callers`.
   * @default the account of the caller
   */
  readonly account?: string;
}
