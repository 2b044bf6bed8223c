/** Where a page ended: after an object, or after all keys of a group (a prefix up to the delimiter). */
export interface ListPosition {
  readonly kind: 'object' | 'group';
  readonly key: string;
}

export function encodeCursor(position: ListPosition): string {
  return Buffer.from(`${position.kind === 'object' ? 'o' : 'g'}${position.key}`).toString('base64url');
}

/** undefined when the text is not a cursor. A cursor is only a position, so a forged one shows nothing that list() would not show. */
export function decodeCursor(cursor: string): ListPosition | undefined {
  if (!/^[A-Za-z0-9_-]{2,8192}$/.test(cursor)) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  if (text[0] !== 'o' && text[0] !== 'g') return undefined;
  return { kind: text[0] === 'o' ? 'object' : 'group', key: text.slice(1) };
}
