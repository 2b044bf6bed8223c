/** Many texts in the answer of a service, in the form that takes the least time to write and to read. */

/** One by one; or end to end, with the length of each. */
export type WireTexts = readonly string[] | { readonly text: string; readonly lengths: readonly number[] };

// Captured before function code runs, because it may replace them.
const { isArray } = Array;
const slice: (text: string, start: number, end: number) => string = Function.prototype.call.bind(
  String.prototype.slice,
);

/**
 * V8 looks up each JSON string of up to 10 characters in its table of all internalized strings, which takes longer than the rest of parsing it. Substrings of
 * 13 characters and more refer to the text that they are cut from: one that is kept would keep the whole page alive.
 */
const MAX_CUT_CHARACTERS = 12;

/** Short texts end to end. */
export function wireTexts(texts: readonly string[]): WireTexts {
  if (texts.some(text => text.length > MAX_CUT_CHARACTERS)) return texts;
  return { text: texts.join(''), lengths: texts.map(text => text.length) };
}

/** The texts again; undefined when they are not as long as they say. */
export function textsApart(texts: WireTexts): readonly string[] | undefined {
  if (isList(texts)) return texts;
  const { text, lengths } = texts;
  const all: string[] = [];
  let start = 0;
  for (let at = 0; at < lengths.length; at++) {
    const end = start + (lengths[at] ?? 0);
    all[at] = slice(text, start, end);
    start = end;
  }
  return start === text.length ? all : undefined;
}

/** @returns the error of a list whose parts do not fit each other */
export function malformedList(): TypeError {
  return new TypeError('list: the answer of the host is malformed, its columns or texts are not as long as it says');
}

function isList(texts: WireTexts): texts is readonly string[] {
  return isArray(texts);
}
