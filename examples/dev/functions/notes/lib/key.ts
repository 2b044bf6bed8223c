/** `/notes/today` is the note "today". */
export function keyOf(url: string): string {
  return new URL(url).pathname.replace(/^\/notes\/?/, '') || 'index';
}
