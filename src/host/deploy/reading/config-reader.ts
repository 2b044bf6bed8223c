/** A parsed configuration file, and errors with the place of the key that they are about. */
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { parse, TomlError } from 'smol-toml';
import { EdgeError } from '../../../quotas/errors.js';
import { complaintsAbout } from '../../../quotas/schema/check.js';
import { type Complaint, dotted, type KeyPath, sentence } from '../../../quotas/schema/complaint.js';
import { isObject } from '../../../quotas/schema/describe.js';
import type { Schema } from '../../../quotas/schema/schema.js';
import { FOREIGN_KEYS } from '../foreign-keys.js';
import { positionOfKey } from './toml-position.js';

/** Line and column, from 1. */
export interface FilePosition {
  readonly line: number;
  readonly column: number;
}

/** The most errors of a file that are reported together. */
const MAX_COMPLAINTS = 20;
/** Deeper values exhaust the stack of a parser that calls itself. */
const MAX_DEPTH = 200;

export class ConfigReader {
  /** The name of the file in errors. */
  readonly file: string;
  /** The value of the whole file, unchecked. */
  readonly root: unknown;
  readonly #positionOf: (path: KeyPath) => FilePosition | undefined;

  constructor(file: string, { root, positionOf }: ParsedFile) {
    this.file = file;
    this.root = root;
    this.#positionOf = positionOf;
  }

  /** The whole file, when it satisfies the schema. @throws EdgeError EDGE_CONFIG_INVALID with up to 20 errors */
  check<T>(schema: Schema<T>): T {
    const errors: EdgeError[] = [];
    for (const complaint of complaintsAbout(schema, this.root)) {
      errors.push(this.error(complaint.path, textOf(complaint)));
      if (errors.length === MAX_COMPLAINTS) break;
    }
    throwAll(errors);
    // It has just been checked.
    return this.root as T;
  }

  /** An error at the nearest key that is there: a missing one is the fault of its table. */
  error(path: KeyPath, message: string): EdgeError {
    const position = this.#nearest(path);
    const place = position === undefined ? this.file : `${this.file}:${position.line}:${position.column}`;
    return new EdgeError('EDGE_CONFIG_INVALID', `${place}: ${message}`, { location: { file: this.file, ...position } });
  }

  #nearest(path: KeyPath): FilePosition | undefined {
    for (let length = path.length; length > 0; length--) {
      const position = this.#positionOf(path.slice(0, length));
      if (position !== undefined) return position;
    }
    return undefined;
  }
}

/** Throws the first error, with the messages of the others as further lines. */
export function throwAll(errors: readonly EdgeError[]): void {
  const [first, ...rest] = errors;
  if (first === undefined) return;
  if (rest.length > 0) first.message = errors.map(({ message }) => message).join('\n');
  throw first;
}

interface ParsedFile {
  readonly root: unknown;
  readonly positionOf: (path: KeyPath) => FilePosition | undefined;
}

/** Reads the text as TOML, or as JSON with comments where the name of the file says so. @throws EdgeError EDGE_CONFIG_INVALID */
export function readerOf(file: string, text: string): ConfigReader {
  return new ConfigReader(file, /\.jsonc?$/.test(file) ? parsedJson(file, text) : parsedToml(file, text));
}

function parsedToml(file: string, text: string): ParsedFile {
  try {
    return { root: parse(text), positionOf: path => positionOfKey(text, path) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    throw syntaxError(file, { line, column }, error.message.split('\n', 1)[0] ?? '', error);
  }
}

/** With comments and trailing commas, as the hosted platform's tools take both in .json, too. */
function parsedJson(file: string, text: string): ParsedFile {
  const deep = tooDeepAt(text);
  if (deep !== undefined)
    throw syntaxError(file, placeOf(text, deep), `values are nested more than ${MAX_DEPTH} levels`);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    throw syntaxError(file, placeOf(text, first.offset), wordsOf(printParseErrorCode(first.error)));
  }
  const root: unknown = tree === undefined ? undefined : getNodeValue(tree);
  if (tree === undefined || !isObject(root)) throw syntaxError(file, { line: 1, column: 1 }, 'expected an object');
  return { root, positionOf: path => positionInTree(text, tree, path) };
}

function positionInTree(text: string, tree: Node, path: KeyPath): FilePosition | undefined {
  const segments = path.map(key => (typeof key === 'string' && /^\d+$/.test(key) ? Number(key) : key));
  const node = findNodeAtLocation(tree, segments) ?? findNodeAtLocation(tree, path.map(String));
  if (node === undefined) return undefined;
  // A property begins with its key.
  const at = node.parent?.type === 'property' ? node.parent : node;
  return placeOf(text, at.offset);
}

function placeOf(text: string, offset: number): FilePosition {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

function tooDeepAt(text: string): number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > MAX_DEPTH) return at;
  }
  return undefined;
}

/** `CommaExpected`: comma expected. */
function wordsOf(code: string): string {
  return code.replace(/\B[A-Z]/g, letter => ` ${letter.toLowerCase()}`).toLowerCase();
}

function syntaxError(file: string, { line, column }: FilePosition, message: string, cause?: unknown): EdgeError {
  return new EdgeError('EDGE_CONFIG_INVALID', `${file}:${line}:${column}: ${message}`, {
    ...(cause !== undefined && { cause }),
    location: { file, line, column },
  });
}

function textOf(complaint: Complaint): string {
  const { path, kind } = complaint;
  const [key = ''] = path;
  const instead = path.length === 1 ? FOREIGN_KEYS.get(String(key)) : undefined;
  if (kind === 'unknown' && instead !== undefined) return `the file has no key "${key}": ${instead}`;
  return textOfComplaint(complaint);
}

/** The text of a complaint about a file. */
export function textOfComplaint(complaint: Complaint): string {
  const { path, kind } = complaint;
  const text = sentence(complaint, { place: dotted, owner: 'the file', member: 'key' });
  const isTable = kind === 'wrong' && path.length === 1 && complaint.given.startsWith('an object');
  return isTable && complaint.allowed.startsWith('an array') ? `${text}: write [[${path[0]}]]` : text;
}
