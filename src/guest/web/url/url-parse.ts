/** URLs of requests and responses: only their serialization is kept. */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import { stringIndexOf } from '../../primordials.ts';

export interface ParsedUrl {
  readonly href: string;
  readonly hasCredentials: boolean;
}

/** Undefined for a text that is not an absolute URL. */
export function parseUrl(text: string): ParsedUrl | undefined {
  const href = op(Op.UrlParse, text);
  if (typeof href !== 'string') return undefined;
  // In a serialized URL, "@" between "//" and the next "/" means that it has credentials.
  const start = stringIndexOf(href, '://');
  const at = start < 0 ? -1 : stringIndexOf(href, '@', start);
  const end = stringIndexOf(href, '/', start + 3);
  return { href, hasCredentials: at >= 0 && (end < 0 || at < end) };
}
