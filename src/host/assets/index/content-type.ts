/** The content type of a file, by the ending of its name. */
import { lookup } from 'mrmime';

/** Browsers do not guess the type of this one. */
const UNKNOWN = 'application/octet-stream';

export function contentTypeOf(path: string): string {
  const type = lookup(path);
  if (type === undefined) return UNKNOWN;
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type;
}
