/** A request as the network gets it, with secrets in it. It is for the transport alone: errors, answers and events have the request of the function. */
import type { FoundSecrets } from './placeholders.js';

/** Shorter values would be found by chance, and say nothing to whoever finds them replaced. */
const LEAST_HIDDEN = 6;

export class SubstitutedRequest {
  readonly urlWithSecrets: URL;
  readonly headersWithSecrets: readonly string[];
  /** The longest first: one value may be a part of another. */
  readonly #hidden: readonly (readonly [string, string])[];

  constructor({ urlWithSecrets, headersWithSecrets, hidden }: FoundSecrets) {
    this.urlWithSecrets = urlWithSecrets;
    this.headersWithSecrets = headersWithSecrets;
    this.#hidden = [...hidden]
      .filter(([value]) => value.length >= LEAST_HIDDEN)
      .sort(([one], [other]) => other.length - one.length);
  }

  /** A text of the answer, with placeholders again where the server has repeated values: in `Location`, mostly. */
  hidden(text: string): string {
    let shown = text;
    for (const [value, placeholder] of this.#hidden) {
      if (shown.includes(value)) shown = shown.replaceAll(value, () => placeholder);
    }
    return shown;
  }
}
