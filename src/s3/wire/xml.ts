/** XML as it is answered. */

/** An element: text, nested elements, or a list of elements of one name. undefined and empty lists are left out. */
export type XmlValue = string | number | boolean | undefined | XmlElement | readonly XmlElement[] | readonly string[];
export interface XmlElement {
  readonly [name: string]: XmlValue;
}

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

export interface XmlOptions {
  /** @default the namespace of S3 */
  readonly namespace?: null;
  /**
   * Keys may hold characters that XML 1.0 cannot. A listing writes them as references, as S3 does: without a key nothing can be done, and clients that mind ask
   * for encoding-type=url. Elsewhere they only repeat what the client sent, and strict parsers would refuse the whole response, so they are replaced by U+FFFD.
   * @default false
   */
  readonly isLossless?: boolean;
}

/** A whole document, as bytes. */
export function buildXml(root: string, content: XmlElement | string, options: XmlOptions = {}): Uint8Array {
  const attribute = options.namespace === null ? '' : ` xmlns="${NAMESPACE}"`;
  const built = `<${root}${attribute}>${typeof content === 'string' ? escapeText(content) : contentOf(content)}</${root}>`;
  const text = options.isLossless === true ? built : built.replace(FORBIDDEN_REFERENCE, '\ufffd');
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`, 'utf8');
}

/** A reference to a character that XML 1.0 does not have. Only escaping makes references: an & of a value is escaped itself. */
const FORBIDDEN_REFERENCE = /&#x(?:[0-8BCEF]|1[0-9A-F]|D[89A-F][0-9A-F]{2}|FFF[EF]);/g;

/** Names are fixed by S3; only values are escaped. */
function contentOf(element: XmlElement): string {
  let text = '';
  for (const [name, value] of Object.entries(element)) {
    if (value === undefined) continue;
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of items) {
      text += `<${name}>${isXmlElement(item) ? contentOf(item) : escapeText(String(item))}</${name}>`;
    }
  }
  return text;
}

function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.replace(/[\x00-\x1f&<>"\x7f-\x9f\ufffe\uffff]|\p{Surrogate}/gu, char => {
    const named = NAMED_OF[char];
    return named ?? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};`;
  });
}

const NAMED_OF: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function isXmlElement(value: unknown): value is XmlElement {
  return typeof value === 'object' && value !== null;
}
