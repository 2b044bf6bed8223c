/** The beginning of a text as a text of its own: a slice would keep all of it in memory. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return Buffer.from(text.slice(0, characters), 'utf16le').toString('utf16le');
}
