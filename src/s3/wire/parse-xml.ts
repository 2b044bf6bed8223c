import { setImmediate } from 'node:timers/promises';
import type { SaxesParser } from 'saxes';
import { S3Error } from './errors.js';

/**
 * XML as it comes in, untrusted: no document type, comments or CDATA, so no entities but the five of XML and characters.
 *
 * A document of some megabytes takes tens of milliseconds, so it is parsed in chunks, with other work in between.
 */

const PIECE_CHARACTERS = 16 * 1024;
/** A key of 1024 bytes, all references, is less than half of it. */
const MAX_TEXT_CHARACTERS = 16 * 1024;
/** Attributes say nothing here; clients write a namespace or two. */
const MAX_ATTRIBUTES = 64;
/** Documents of S3 nest to a depth of five. */
const MAX_DEPTH = 32;

/**
 * The content of the document's root, which must be `root`. Rejects with S3Error MalformedXML, for more than `elementsMax`
 * elements as soon as there is one too many.
 */
export async function parseXml(bytes: Uint8Array, root: string, elementsMax: number): Promise<ParsedElement> {
  const text = escapeForbidden(decodeUtf8(bytes).trimStart());
  // Few hosts are sent XML, and none when it starts.
  const { SaxesParser } = await import('saxes');
  const parser = new SaxesParser({ position: false, forceXMLVersion: true, defaultXMLVersion: '1.0' });
  const tree = new TreeBuilder(parser, root, elementsMax);
  try {
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      if (at > 0) await setImmediate();
      tree.write(text.slice(at, at + PIECE_CHARACTERS));
    }
    return tree.end();
  } catch (cause) {
    if (cause instanceof S3Error) throw cause;
    throw new S3Error('MalformedXML', undefined, { cause });
  }
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

/** Builds a tree from the events of the parser, which throws at the first mistake. */
class TreeBuilder {
  readonly #parser: SaxesParser;
  /** The element that is open, after those around it. */
  readonly #open: ParsedElement[] = [];
  #root: ParsedElement | undefined;

  constructor(parser: SaxesParser, root: string, elementsMax: number) {
    this.#parser = parser;
    let elements = 0;
    let attributes = 0;
    Object.assign(this.#parser.ENTITIES, FORBIDDEN_ENTITIES);
    this.#parser.on('attribute', () => {
      if (++attributes > MAX_ATTRIBUTES)
        throw new S3Error('MalformedXML', `The XML has more than ${MAX_ATTRIBUTES} attributes.`);
    });
    this.#parser.on('opentag', ({ name }) => {
      const localName = name.slice(name.indexOf(':') + 1);
      const parent = this.#open.at(-1);
      const element = new ParsedElement();
      if (parent !== undefined) parent.add(localName, element);
      else if (localName === root) this.#root = element;
      else throw new S3Error('MalformedXML', `The root of the XML must be ${root}.`);
      if (++elements > elementsMax)
        throw new S3Error('MalformedXML', `The XML has more than ${elementsMax} elements; ${root} has fewer here.`);
      if (this.#open.push(element) > MAX_DEPTH)
        throw new S3Error('MalformedXML', `The XML nests deeper than ${MAX_DEPTH} elements.`);
    });
    this.#parser.on('text', text => this.#open.at(-1)?.addText(text));
    this.#parser.on('closetag', () => {
      this.#open.pop();
    });
  }

  write(piece: string): void {
    this.#parser.write(piece);
  }

  end(): ParsedElement {
    this.#parser.close();
    if (this.#root === undefined) throw new S3Error('MalformedXML');
    return this.#root;
  }
}

/** Reads values from a parsed element; a wrong shape is MalformedXML. */
export class ParsedElement {
  readonly #children = new Map<string, ParsedElement[]>();
  #text = '';

  add(name: string, child: ParsedElement): void {
    const same = this.#children.get(name);
    if (same === undefined) this.#children.set(name, [child]);
    else same.push(child);
  }

  addText(text: string): void {
    if (this.#text.length + text.length > MAX_TEXT_CHARACTERS) {
      // Between the elements of a list is nothing that is read, however much it is.
      if (this.#children.size > 0) return;
      throw new S3Error('MalformedXML', `An element of the XML has more than ${MAX_TEXT_CHARACTERS} characters.`);
    }
    this.#text += text;
  }

  get names(): string[] {
    return [...this.#children.keys()];
  }

  text(name: string): string | undefined {
    const [child, second] = this.#children.get(name) ?? [];
    if (child === undefined) return undefined;
    if (second !== undefined || child.#children.size > 0)
      throw new S3Error('MalformedXML', `The element ${name} must be text, once.`);
    return child.#text;
  }

  elements(name: string): readonly ParsedElement[] {
    return this.#children.get(name) ?? [];
  }
}

/**
 * Characters that XML 1.0 cannot have, not even as references. S3's clients write them in keys all the same, as they are or as references,
 * so they become entities of their own.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&#(?:x0*(1?[0-9a-f]|fff[ef])|0*([12]?\d|3[01]|6553[45]));/gi;
const FORBIDDEN_CODES = [...Array.from({ length: 0x20 }, (_, code) => code), 0xfffe, 0xffff];
const FORBIDDEN_ENTITIES: Readonly<Record<string, string>> = Object.fromEntries(
  FORBIDDEN_CODES.map(code => [`forbidden-${code}`, String.fromCharCode(code)]),
);

function escapeForbidden(text: string): string {
  return text.replace(FORBIDDEN, (found, hexadecimal?: string, decimal?: string) => {
    const code =
      hexadecimal !== undefined
        ? Number.parseInt(hexadecimal, 16)
        : decimal !== undefined
          ? Number(decimal)
          : found.charCodeAt(0);
    return `&forbidden-${code};`;
  });
}
