import { setImmediate } from 'node:timers/promises';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { S3Error } from './errors.js';

/**
 * XML as it comes in, untrusted: no document type, comments or CDATA, so no entities but the five of XML and characters.
 *
 * The parser works in one go, and a document of some megabytes would take the better part of a second. So the content of
 * the root is cut behind the elements that a request may repeat, and parsed batch by batch, each a document of its own,
 * with other work in between.
 */

/** The longest batch, in characters. One element with a key of 1024 bytes, all references, is less than half of it. */
const BATCH_CHARACTERS = 16 * 1024;
/** With its attributes, which say nothing here. */
const ROOT_TAG_CHARACTERS = 1024;
const LESS_THAN = 0x3c;
/** The declaration and the like. */
const SPARE_TAGS = 16;

/** Elements of which a request may have several. */
const REPEATED: ReadonlySet<string> = new Set(['Object', 'Part']);
const END_OF_REPEATED = /<\/(?:[\w.-]+:)?(?:Object|Part)\s*>/g;
const ROOT_TAG = /^\s*(?:<\?xml\s[^<>]*\?>\s*)?<((?:[\w.-]+:)?([\w.-]+))(?:\s[^<>]*?)?(\/?)>/;
const PARSER = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  ignorePiTags: true,
  // Decoded below in one pass, so that `&amp;lt;` stays `&lt;`.
  processEntities: false,
  isArray: name => REPEATED.has(name),
});

/**
 * The content of the document's root, which must be `root`. Rejects with S3Error MalformedXML.
 *
 * What has more tags than `elementsMax` elements can have is refused by a count, so that a document made to be slow is
 * not begun.
 */
export async function parseXml(bytes: Uint8Array, root: string, elementsMax: number): Promise<ParsedElement> {
  let tags = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LESS_THAN) tags++;
  if (tags > elementsMax * 2 + SPARE_TAGS) {
    throw new S3Error('MalformedXML', `The XML has ${tags} tags; ${root} has at most ${elementsMax} elements here.`);
  }
  const content: Record<string, unknown> = Object.create(null);
  let isFirst = true;
  for (const batch of batchesOf(contentOf(decodeUtf8(bytes), root))) {
    if (!isFirst) await setImmediate();
    isFirst = false;
    for (const [name, value] of Object.entries(parseBatch(batch))) addElement(content, name, value);
  }
  return new ParsedElement(content);
}

function decodeUtf8(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new S3Error('MalformedXML', 'The XML is not UTF-8.', { cause });
  }
  // No client writes them, and document types and CDATA change what a value is.
  if (text.includes('<!')) throw new S3Error('MalformedXML', 'Document types, comments and CDATA are not allowed.');
  return text;
}

/** What is between the tags of the root. */
function contentOf(text: string, root: string): string {
  const match = ROOT_TAG.exec(text.slice(0, ROOT_TAG_CHARACTERS));
  if (match === null) throw new S3Error('MalformedXML');
  const [tag, name = '', localName, slash] = match;
  if (localName !== root) throw new S3Error('MalformedXML', `The root of the XML must be ${root}.`);
  const rest = text.slice(tag.length).trimEnd();
  if (slash === '/') {
    if (rest !== '') throw new S3Error('MalformedXML');
    return '';
  }
  const end = rest.lastIndexOf('</');
  if (end < 0 || !rest.endsWith('>') || rest.slice(end + 2, -1).trimEnd() !== name) throw new S3Error('MalformedXML');
  return rest.slice(0, end);
}

/** Cut where a repeated element ends; a batch is longer than it may be when one element alone is. */
function* batchesOf(content: string): Generator<string> {
  let start = 0;
  let end = 0;
  const cut = function* (next: number): Generator<string> {
    if (next - start > BATCH_CHARACTERS && end > start) {
      yield content.slice(start, end);
      start = end;
    }
    end = next;
  };
  for (const match of content.matchAll(END_OF_REPEATED)) yield* cut(match.index + match[0].length);
  yield* cut(content.length);
  if (end > start) yield content.slice(start, end);
}

function parseBatch(batch: string): Record<string, unknown> {
  if (batch.length > BATCH_CHARACTERS) {
    throw new S3Error('MalformedXML', `An element of the XML has more than ${BATCH_CHARACTERS} characters.`);
  }
  const text = `<${BATCH}>${batch}</${BATCH}>`;
  if (XMLValidator.validate(text) !== true) throw new S3Error('MalformedXML');
  let document: unknown;
  try {
    document = PARSER.parse(text);
  } catch (cause) {
    throw new S3Error('MalformedXML', undefined, { cause });
  }
  const content = isObject(document) ? document[BATCH] : undefined;
  return isObject(content) ? content : {};
}

const BATCH = 'Batch';

/** What was parsed of an element before stays, and more of it makes it a list: text that is there twice is refused when read. */
function addElement(content: Record<string, unknown>, name: string, value: unknown): void {
  const before = content[name];
  if (before === undefined) content[name] = value;
  else if (Array.isArray(before)) for (const item of Array.isArray(value) ? value : [value]) before.push(item);
  else content[name] = [before, value];
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
