/** Where a page ended: behind an object, or behind all keys of a group (a prefix up to the delimiter). */
export interface ListPosition {
  readonly kind: 'object' | 'group';
  readonly key: string;
}

export function encodeCursor(position: ListPosition): string {
  return Buffer.from(`${position.kind === 'object' ? 'o' : 'g'}${position.key}`).toString('base64url');
}

/** undefined: it is none of ours. A cursor only says where to go on, so a forged one reads nothing that list would not. */
export function decodeCursor(cursor: string): ListPosition | undefined {
  if (!/^[A-Za-z0-9_-]{2,8192}$/.test(cursor)) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  if (text[0] !== 'o' && text[0] !== 'g') return undefined;
  return { kind: text[0] === 'o' ? 'object' : 'group', key: text.slice(1) };
}
