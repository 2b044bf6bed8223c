/** Checks a purge: the shape that the application and the management API give, and its normal form. */
import { constant, list, objectOf, type Schema, text } from '../../quotas/schema/schema.js';
import { checkUrl } from './check-arguments.js';
import type { CachePurge } from './engine.js';

const MAX_ITEMS = 1000;
const items = (what: string, rules: Record<string, unknown> = {}): Schema<readonly string[]> =>
  list(text({ minLength: 1, maxLength: 16_384, description: what, ...rules }), { minItems: 1, maxItems: MAX_ITEMS });

export const CACHE_PURGE: Schema<CachePurge> = objectOf<CachePurge>(
  {
    'everything?': constant(true),
    'urls?': items('an absolute URL of http or https'),
    'prefixes?': items('the beginning of a URL, with its host: "example.com/images/"', {
      pattern: '^(?:https?://)?[^/\\s\\u0000-\\u001f]+(?:/[^\\s\\u0000-\\u001f]*)?$',
    }),
    'tags?': items('a tag of 1 to 1024 characters, without commas', { pattern: '^[^,]+$', maxLength: 1024 }),
  },
  { minProperties: 1 },
);

/**
 * The same with URLs, hosts and tags as they are kept.
 *
 * @throws TypeError that quotes an invalid URL
 */
export function normalPurge({ everything, urls = [], prefixes = [], tags = [] }: CachePurge): CachePurge {
  return {
    ...(everything === true && { everything }),
    urls: urls.map(normalUrl),
    prefixes: prefixes.map(normalPrefix),
    // A lone surrogate has no UTF-8. No response has such a tag.
    tags: tags.map(tag =>
      tag
        .replace(/\p{Surrogate}/gu, '\ufffd')
        .trim()
        .toLowerCase(),
    ),
  };
}

function normalUrl(url: string): string {
  try {
    return checkUrl(url);
  } catch {
    throw new TypeError(
      `Cannot purge ${JSON.stringify(url.slice(0, 200))}: expected an absolute URL of http or https, such as "https://example.com/a"`,
    );
  }
}

/** Hosts are in lower case, and paths as they are. */
function normalPrefix(prefix: string): string {
  const [, scheme = '', host = '', path = ''] = /^(https?:\/\/)?([^/]*)(.*)$/is.exec(prefix) ?? [];
  return `${scheme.toLowerCase()}${host.toLowerCase()}${path}`;
}
