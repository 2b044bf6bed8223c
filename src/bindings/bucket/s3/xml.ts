import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { S3Error } from './errors.js';

/** XML in and out. What comes in is untrusted: no document type, so no entities but the five of XML and characters. */

/** An element: text, nested elements, or a list of elements of one name. undefined and empty lists are left out. */
export type XmlValue = string | number | boolean | undefined | XmlElement | readonly XmlElement[] | readonly string[];
export interface XmlElement {
  readonly [name: string]: XmlValue;
}

const LESS_THAN = 0x3c;
/** The declaration, comments, and the like. */
const SPARE_TAGS = 16;
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';
const BUILDER = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', processEntities: false });

/** Elements of which a request may have several. */
const REPEATED: ReadonlySet<string> = new Set(['Object', 'Part']);
const PARSER = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  // Decoded below in one pass, so that `&amp;lt;` stays `&lt;`.
  processEntities: false,
  isArray: name => REPEATED.has(name),
});

export interface XmlOptions {
  /** @default that of S3 */
  readonly namespace?: null;
  /**
   * Keys may hold characters that XML 1.0 cannot. A listing writes them as references, as S3 does: without a key nothing
   * can be done, and clients that mind ask for encoding-type=url. Elsewhere they only tell a client what it said itself,
   * and strict parsers take the whole answer for an error: U+FFFD stands for them.
   * @default false
   */
  readonly isLossless?: boolean;
}

/** A whole document, as bytes. */
export function buildXml(root: string, content: XmlElement, options: XmlOptions = {}): Uint8Array {
  const attributes = options.namespace === null ? {} : { '@xmlns': NAMESPACE };
  const built = String(BUILDER.build({ [root]: { ...attributes, ...escapeElement(content) } }));
  const text = options.isLossless === true ? built : built.replace(FORBIDDEN_REFERENCE, '\ufffd');
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`, 'utf8');
}

/** A reference to what is no character of XML 1.0. Only escaping makes references: an & of a value is escaped itself. */
const FORBIDDEN_REFERENCE = /&#x(?:[0-8BCEF]|1[0-9A-F]|D[89A-F][0-9A-F]{2}|FFF[EF]);/g;

/**
 * The content of the document's root, which must be `root`. Throws S3Error MalformedXML.
 *
 * The parser works in one go, a megabyte in about a tenth of a second. What has more tags than the operation can use is
 * refused by a count, so that a document made to be slow is not begun.
 */
export function parseXml(bytes: Uint8Array, root: string, elementsMax: number): ParsedElement {
  let tags = 0;
  for (let at = bytes.indexOf(LESS_THAN); at >= 0; at = bytes.indexOf(LESS_THAN, at + 1)) tags++;
  if (tags > elementsMax * 2 + SPARE_TAGS) {
    throw new S3Error('MalformedXML', `The XML has ${tags} tags; ${root} has at most ${elementsMax} elements here.`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new S3Error('MalformedXML', 'The XML is not UTF-8.', { cause });
  }
  // Neither a document type nor CDATA: no client writes them, and both change what a value is.
  if (/<!(?!--)/.test(text)) throw new S3Error('MalformedXML', 'Document types and CDATA are not allowed.');
  if (XMLValidator.validate(text) !== true) throw new S3Error('MalformedXML');
  let document: unknown;
  try {
    document = PARSER.parse(text);
  } catch (cause) {
    throw new S3Error('MalformedXML', undefined, { cause });
  }
  const content = isObject(document) && Object.hasOwn(document, root) ? document[root] : undefined;
  if (content === undefined) throw new S3Error('MalformedXML', `The root of the XML must be ${root}.`);
  return new ParsedElement(isObject(content) ? content : {});
}

/** Reads of a parsed element; whatever has not the wanted shape is MalformedXML. */
export class ParsedElement {
  readonly #content: Readonly<Record<string, unknown>>;

  constructor(content: Readonly<Record<string, unknown>>) {
    this.#content = content;
  }

  get names(): string[] {
    return Object.keys(this.#content).filter(name => name !== '#text');
  }

  text(name: string): string | undefined {
    const value = Object.hasOwn(this.#content, name) ? this.#content[name] : undefined;
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw new S3Error('MalformedXML', `The element ${name} must be text, once.`);
    return decodeText(value);
  }

  elements(name: string): ParsedElement[] {
    const value = Object.hasOwn(this.#content, name) ? this.#content[name] : undefined;
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw new S3Error('MalformedXML', `The element ${name} must be a list.`);
    return value.map((item: unknown) => new ParsedElement(isObject(item) ? item : {}));
  }
}

function escapeElement(element: XmlElement): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(element)) {
    if (value === undefined) continue;
    if (typeof value !== 'object') out[name] = escapeText(String(value));
    else if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      out[name] = items.map(item =>
        typeof item === 'string' ? escapeText(item) : isXmlElement(item) ? escapeElement(item) : '',
      );
    } else if (isXmlElement(value)) out[name] = escapeElement(value);
  }
  return out;
}

function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.replace(/[\x00-\x1f&<>"\x7f-\x9f\ufffe\uffff]|\p{Surrogate}/gu, char => {
    const named = NAMED_OF[char];
    return named ?? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};`;
  });
}

const NAMED_OF: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function decodeText(text: string): string {
  // Line ends of XML are LF; a CR that is meant comes as a reference.
  return text.replace(/\r\n?/g, '\n').replace(/&([^;]{0,10})(;?)/g, (whole, name: string, end: string) => {
    const char = end === '' ? undefined : (NAMED.get(name) ?? decodeReference(name));
    if (char === undefined) throw new S3Error('MalformedXML', `The entity ${JSON.stringify(whole)} is not known.`);
    return char;
  });
}

function decodeReference(name: string): string | undefined {
  const match = /^#(?:x([0-9A-Fa-f]{1,6})|(\d{1,7}))$/.exec(name);
  if (match === null) return undefined;
  const code = match[1] === undefined ? Number(match[2]) : Number.parseInt(match[1], 16);
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? undefined : String.fromCodePoint(code);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isXmlElement(value: unknown): value is XmlElement {
  return isObject(value) && !Array.isArray(value);
}
