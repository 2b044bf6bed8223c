/** Which requests go to the function before the files: the option `runWorkerFirst`. */

/** `undefined`: the files are looked at first, and the function answers when no file matches. */
export type FirstChoice = 'function' | 'assets' | undefined;

export class RunFirst {
  readonly #all: boolean;
  readonly #function: readonly string[] = [];
  readonly #assets: readonly string[] = [];

  constructor(option: boolean | readonly string[]) {
    this.#all = option === true;
    if (typeof option === 'boolean') return;
    this.#function = option.filter(pattern => !pattern.startsWith('!'));
    this.#assets = option.filter(pattern => pattern.startsWith('!')).map(pattern => pattern.slice(1));
  }

  /** @param path as it is in the URL */
  choose(path: string): FirstChoice {
    if (this.#all) return 'function';
    // Exceptions win over patterns, in whatever order they are written.
    if (this.#assets.some(pattern => matches(pattern, path))) return 'assets';
    if (this.#function.some(pattern => matches(pattern, path))) return 'function';
    return undefined;
  }
}

/** Whether the text is the pattern, in which each `*` stands for any characters. One pass, without a regular expression. */
export function matches(pattern: string, text: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let resume = 0;
  while (place < text.length) {
    if (pattern[at] === '*') {
      star = at++;
      resume = place;
    } else if (pattern[at] === text[place]) {
      at++;
      place++;
    } else if (star >= 0) {
      // The last star takes one character more.
      at = star + 1;
      place = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
