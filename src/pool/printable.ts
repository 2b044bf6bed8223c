/** Control characters: C0 with the escape, C1, and those that change lines or the direction of what is shown. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

/** Text of a cell as it may be part of an error, which ends up in terminals and logs: each run of control characters is a space. */
export function printable(text: string): string {
  return text.replace(CONTROL, ' ').trim();
}
