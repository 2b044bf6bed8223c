/** Cursors of listings: the key that a page ended with. A forged one shows nothing that list() would not show. */

export function encodeCursor(key: string): string {
  return Buffer.from(key).toString('base64url');
}

/** undefined when the text is no cursor. */
export function decodeCursor(cursor: string): string | undefined {
  return /^[A-Za-z0-9_-]{2,700}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : undefined;
}
