/** The tool that was probably meant by a name that none has. Code under attack asks often: names are compared only when their letters are nearly the same. */

import { distanceOf, mistakesIn } from '../../../quotas/schema/nearest-name.js';

const MAX_NAME = 100;
const MAX_SHOWN = 10;
/** Names that one mistake is compared with: 3 us each. */
const MAX_COMPARED = 1000;

interface Known {
  readonly name: string;
  readonly plain: string;
  /** The set of its letters, by their codes. */
  readonly letters: number;
}

export class NearestTool {
  readonly #known: readonly Known[];
  /** By the last part alone: somebody may have forgotten the namespace, or chosen another. */
  readonly #byLastPart = new Map<string, string>();

  constructor(names: readonly string[]) {
    this.#known = names.map(name => ({ name, plain: plain(name), letters: lettersOf(plain(name)) }));
    for (const { name } of this.#known) {
      const last = lastPart(plain(name));
      if (!this.#byLastPart.has(last)) this.#byLastPart.set(last, name);
    }
  }

  /** The end of a sentence about the name. */
  hint(given: string): string {
    const members = this.#known.flatMap(({ name }) =>
      name.startsWith(`${given}.`) ? [name.slice(given.length + 1)] : [],
    );
    if (members.length > 0) return `it is a namespace; its tools are ${listed(members)}`;
    const meant = this.nearest(given);
    if (meant !== undefined) return `there is no such tool, did you mean tools.${meant}()?`;
    if (this.#known.length === 0) return 'there are no tools';
    return `there is no such tool; the tools are ${listed(this.#known.map(({ name }) => name))}`;
  }

  nearest(given: string): string | undefined {
    if (given.length > MAX_NAME) return undefined;
    const wanted = plain(given);
    const letters = lettersOf(wanted);
    let nearest: string | undefined;
    let least = mistakesIn(wanted) + 1;
    let compared = 0;
    for (const { name, plain, letters: known } of this.#known) {
      // Each edit changes two letters at the most.
      if (Math.abs(plain.length - wanted.length) >= least || bitsOf(letters ^ known) > 2 * (least - 1)) continue;
      if (++compared > MAX_COMPARED) break;
      const distance = distanceOf(wanted, plain, least);
      if (distance >= least) continue;
      nearest = name;
      least = distance;
    }
    return nearest ?? this.#byLastPart.get(lastPart(wanted));
  }
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_SHOWN;
  return more > 0 ? `${names.slice(0, MAX_SHOWN).join(', ')} and ${more} more` : names.join(', ');
}

/** `find_user`, `findUser` and `FindUser` are one name to whoever writes them. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[_$]/g, '');
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function lettersOf(name: string): number {
  let letters = 0;
  for (let at = 0; at < name.length; at++) letters |= 1 << (name.charCodeAt(at) & 31);
  return letters;
}

function bitsOf(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}
