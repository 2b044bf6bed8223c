/** Control characters: C0 with the escape, C1, line separators and marks of text direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

/** Makes text of a cell safe for errors, which end up in terminals and logs: each run of control characters becomes a space. */
export function printable(text: string): string {
  return text.replace(CONTROL, ' ').trim();
}
