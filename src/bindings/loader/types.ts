/** Loader bindings: code that a function loads itself, as `env.LOADER.load({ mainModule, modules })`. */

/** A loader. Code that it has loaded under an id may be reused by later calls with the same id. */
export interface LoaderTarget {
  /**
   * Functions of the account whose loaders have the same id share loaded code: 1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit.
   * @default the binding shares with no other
   */
  readonly id?: string;
}
