/** Stateful objects: how a function is bound to their classes. */

/** The class of the objects behind a binding. */
export interface ObjectsTarget {
  /** The export of the function's main module: a class that extends `StatefulObject`. */
  readonly class: string;
  /** The function that exports the class. It need not be loaded before the function that is bound to it. @default the function itself */
  readonly function?: string;
  /**
   * The account of that function. A function of another account must name the account of the caller in its option `callers`.
   * @default the account of the caller
   */
  readonly account?: string;
}
