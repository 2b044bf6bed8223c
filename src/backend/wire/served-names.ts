/** The host names that functions of an application answer, as far as the backend process must know them: whether a fetch may be for one of them. */

export interface ServedNamesList {
  readonly exact: readonly string[];
  /** For `*.example.com`: `example.com`. */
  readonly below: readonly string[];
  /** For `*example.com`: how a name ends. */
  readonly endings: readonly string[];
}

export class ServedNames {
  #exact: ReadonlySet<string> = new Set();
  #below: readonly string[] = [];
  #endings: readonly string[] = [];

  /** @param text JSON of ServedNamesList */
  set(text: string): void {
    const { exact, below, endings }: ServedNamesList = JSON.parse(text); // written by the application
    this.#exact = new Set(exact);
    this.#below = below.map(name => `.${name}`);
    this.#endings = endings;
  }

  mayHave({ hostname }: URL): boolean {
    if (this.#exact.has(hostname)) return true;
    return [...this.#below, ...this.#endings].some(ending => hostname.endsWith(ending));
  }
}
