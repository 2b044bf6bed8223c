/**
 * Whether a JSON text is cheap to parse for its length. Texts and numbers are; a megabyte of names that are used once, or of brackets, takes the main
 * thread a hundred milliseconds. Looking costs some 2 ms a megabyte.
 */

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const BRACKET = 91;
const BRACE = 123;

/** Shorter texts are cheap to parse, whatever they hold. */
const LOOKED_INTO_FROM = 16 * 1024;

export interface StructureBounds {
  /** Named values. */
  readonly names: number;
  /** Arrays and objects. */
  readonly brackets: number;
}

/** The bounds for the arguments of a call. The parts of an upload, which are pairs, need the brackets. */
const CALL_BOUNDS: StructureBounds = { names: 512, brackets: 10_100 };

/** @returns the count that is too high, with its bound; undefined when the text may be parsed */
export function expensiveStructure(text: string, bounds: StructureBounds = CALL_BOUNDS): string | undefined {
  if (text.length < LOOKED_INTO_FROM) return undefined;
  let names = 0;
  let brackets = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === COLON) names++;
    else if (code === BRACKET || code === BRACE) brackets++;
  }
  if (names > bounds.names) return `${names} named values, at most ${bounds.names}`;
  if (brackets > bounds.brackets) return `${brackets} arrays and objects, at most ${bounds.brackets}`;
  return undefined;
}

/** The place of the quote that ends the text which begins at `start`; the end of the input when the text does not end. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
