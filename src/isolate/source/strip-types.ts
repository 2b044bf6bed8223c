/**
 * Removes the types of TypeScript, and leaves everything else where it is: types become spaces, so that every line and column stays.
 *
 * Own code over acorn's plugin, and not `module.stripTypeScriptTypes` or `amaro`: after one text of 256 KB of opening brackets both fail for every later
 * text of the process (Node 24.21, amaro 1.2.1: "memory access out of bounds"), and their WebAssembly would take 3.5 MB in each thread.
 */

import { tsPlugin } from '@sveltejs/acorn-typescript';
import { type Node, Parser, type TokenType, tokTypes } from 'acorn';
import { bounded } from './bounded-parser.js';
import { SourceMistake } from './source-mistake.js';

/** Syntax that is more than types; see {@link SourceMistake}. */
const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ['TSEnumDeclaration', 'An enum is not supported, since only types are removed; write an object'],
  ['TSModuleDeclaration', 'A namespace is not supported, since only types are removed; write an object'],
  ['TSParameterProperty', 'A parameter property is not supported, since only types are removed; assign to this'],
  ['TSImportEqualsDeclaration', '"import =" is not supported, since only types are removed; write import from'],
  ['TSExportAssignment', '"export =" is not supported, since only types are removed; write export default'],
  ['Decorator', 'A decorator is not supported, since only types are removed'],
]);

/** Nodes that are removed wherever they are. */
const TYPES: ReadonlySet<string> = new Set([
  'TSTypeAnnotation',
  'TSTypeParameterDeclaration',
  'TSTypeParameterInstantiation',
]);
/** Statements and members of classes that are removed as a whole. */
const DECLARATIONS: ReadonlySet<string> = new Set([
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'TSDeclareFunction',
  'TSIndexSignature',
  'TSAbstractMethodDefinition',
  'TSAbstractPropertyDefinition',
  'TSNamespaceExportDeclaration',
]);
/** Fields with statements or members of classes. */
const LISTS: readonly string[] = ['body', 'consequent'];
const MODIFIER = /^(?:public|private|protected|readonly|override|abstract|declare)$/;
const LINE_BREAK = /[\n\r\u2028\u2029]/;
const NOT_LINE_BREAKS = /[^\n\r\u2028\u2029]/g;

/** A node of any kind: its own fields are looked at before they are used. */
type AnyNode = Node & { readonly [field: string]: unknown };

interface Token {
  readonly start: number;
  readonly end: number;
}

/** Parts of the plugin's parser that it has no types for. */
interface PluginParser {
  yieldPos: number;
  awaitPos: number;
  awaitIdentPos: number;
  readonly tsParseConstModifier: unknown;
  parseConditional(...args: unknown[]): unknown;
  shouldParseArrow(...args: unknown[]): boolean;
  match(type: TokenType): boolean;
  tryParse(parse: () => unknown): { readonly node: unknown; readonly error: unknown };
  tsParseTypeParameter(parseModifiers: unknown): unknown;
  tsTryParseGenericAsyncArrowFunction(...args: unknown[]): unknown;
}

/** Three mistakes of the plugin (1.0.13); strip-types.test.ts has them all. */
function corrected(Base: typeof Parser): typeof Parser {
  // The plugin before this one has made the class, which has the parts.
  const Plugin = Base as unknown as new (...args: unknown[]) => PluginParser;
  class Corrected extends Plugin {
    #mayHaveReturnType = true;
    #hadReturnType = false;

    /** In `a ? (b) : c => d` the colon may begin a type or the alternative, which is tried when there is no second colon. */
    override parseConditional(...args: unknown[]): unknown {
      if (!this.match(tokTypes.question)) return super.parseConditional(...args);
      this.#hadReturnType = false;
      const { node, error } = this.tryParse(() => super.parseConditional(...args));
      if (typeof node === 'object' && node !== null) return node;
      if (!this.#hadReturnType || !this.#mayHaveReturnType) throw error;
      this.#mayHaveReturnType = false;
      try {
        return super.parseConditional(...args);
      } finally {
        this.#mayHaveReturnType = true;
      }
    }

    override shouldParseArrow(...args: unknown[]): boolean {
      const mayHaveType = this.match(tokTypes.colon);
      if (mayHaveType && !this.#mayHaveReturnType) return false;
      const isArrow = super.shouldParseArrow(...args);
      if (mayHaveType && isArrow) this.#hadReturnType = true;
      return isArrow;
    }

    /** An await before an arrow function is no await in its parameters. */
    override tsTryParseGenericAsyncArrowFunction(...args: unknown[]): unknown {
      const { yieldPos, awaitPos, awaitIdentPos } = this;
      Object.assign(this, { yieldPos: 0, awaitPos: 0, awaitIdentPos: 0 });
      try {
        return super.tsTryParseGenericAsyncArrowFunction(...args);
      } finally {
        Object.assign(this, { yieldPos, awaitPos, awaitIdentPos });
      }
    }

    /** Methods may have `<const T>`, too. */
    override tsParseTypeParameter(parseModifiers: unknown): unknown {
      return super.tsParseTypeParameter(parseModifiers ?? this.tsParseConstModifier);
    }
  }
  return Corrected as unknown as typeof Parser; // a subclass of it
}

const TypeScriptParser = Parser.extend(tsPlugin(), corrected, bounded);

/**
 * @throws SourceMistake for TypeScript that is more than types; SyntaxError of acorn, with `pos` and `raisedAt`, for a text that does not parse
 */
export function stripTypes(source: string): string {
  const tokens: Token[] = [];
  const program = TypeScriptParser.parse(source, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowHashBang: true,
    allowReturnOutsideFunction: true,
    locations: true,
    onToken: ({ start, end }) => void tokens.push({ start, end }),
  });
  // Parsing backtracks: tokens that were read twice are there twice.
  tokens.sort((a, b) => a.start - b.start || b.end - a.end);
  const stripper = new Stripper(source, tokens);
  if (isNode(program)) stripper.strip(program);
  return stripper.result();
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

class Stripper {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #edits: Edit[] = [];
  /** The ends of statements and of members of classes. One that ends in a type may end without a semicolon, and the next line must not continue it. */
  readonly #ends = new Set<number>();

  constructor(source: string, tokens: readonly Token[]) {
    this.#source = source;
    this.#tokens = tokens;
  }

  /** Without recursion, since a chain of calls can be as deep as its text is long. */
  strip(program: AnyNode): void {
    const open = [program];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (this.#isRemoved(node)) continue;
      this.#stripParts(node);
      for (const child of childrenOf(node)) open.push(child);
    }
  }

  result(): string {
    const edits = this.#edits.sort((a, b) => a.start - b.start || b.end - a.end);
    let text = '';
    let at = 0;
    for (const { start, end, text: replacement } of edits) {
      // Inside of a longer edit that is done.
      if (end <= at) continue;
      const isOpenEnd = this.#ends.has(end) && replacement.startsWith(' ');
      text += this.#source.slice(at, start) + (isOpenEnd ? `;${replacement.slice(1)}` : replacement);
      at = end;
    }
    return text + this.#source.slice(at);
  }

  /** Removes the node as a whole, if it is a type. */
  #isRemoved(node: AnyNode): boolean {
    const { type, start, end } = node;
    if (TYPES.has(type)) this.#blank(start, end);
    else if (isTypeDeclaration(node)) this.#blank(start, end, ';');
    else {
      const mistake = UNSUPPORTED.get(type);
      if (mistake !== undefined) throw new SourceMistake(mistake, start);
      return false;
    }
    return true;
  }

  #stripParts(node: AnyNode): void {
    const { type, end } = node;
    switch (type) {
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSInstantiationExpression':
        this.#blankBehind(nodeIn(node, 'expression'), end);
        break;
      case 'TSTypeAssertion':
        this.#assertion(node);
        break;
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
        this.#specifiers(node);
        break;
      case 'ClassDeclaration':
      case 'ClassExpression':
        this.#classHead(node);
        break;
      case 'PropertyDefinition':
      case 'AccessorProperty':
      case 'MethodDefinition':
        this.#member(node);
        break;
      case 'VariableDeclarator':
        this.#mark(node, 'id', '!');
        break;
      case 'ArrowFunctionExpression':
        this.#arrow(node);
        break;
    }
    if (node.optional === true && isPattern(type)) this.#optionalMark(node);
    if (Array.isArray(node.params)) this.#thisParameter(node.params);
    for (const field of LISTS) for (const item of nodesIn(node, field)) this.#ends.add(item.end);
  }

  /** Spaces in place of all but line breaks. `first` and `last` take the places of the first and the last character. */
  #blank(start: number, end: number, first = '', last = ''): void {
    if (start >= end) return;
    const blanks = this.#source.slice(start, end).replace(NOT_LINE_BREAKS, ' ');
    this.#edits.push({ start, end, text: first + blanks.slice(first.length, blanks.length - last.length) + last });
  }

  #blankBehind(expression: AnyNode | undefined, end: number): void {
    if (expression === undefined) return;
    // The end of an expression in brackets is before the closing bracket.
    let from = expression.end;
    for (let token = this.#tokenFrom(from); token !== undefined && this.#is(token, ')'); token = this.#tokenFrom(from))
      from = token.end;
    this.#blank(from, end);
  }

  /** `<T>x`. Without the type, a line break behind `return` would end the statement, and `{` may begin a block. */
  #assertion(node: AnyNode): void {
    const close = this.#tokenFrom(nodeIn(node, 'typeAnnotation')?.end ?? node.start);
    const next = close && this.#tokenFrom(close.end);
    if (close === undefined || next === undefined) return;
    const rest = this.#source.slice(node.start, next.end);
    if (LINE_BREAK.test(rest) || /[{]$|\b(?:class|function|async)$/.test(rest))
      throw new SourceMistake('A type assertion is not supported before this; write "as"', node.start);
    this.#blank(node.start, close.end);
  }

  /** Imports and exports of single types. */
  #specifiers(node: AnyNode): void {
    for (const specifier of nodesIn(node, 'specifiers')) {
      if (specifier.importKind !== 'type' && specifier.exportKind !== 'type') continue;
      const next = this.#tokenFrom(specifier.end);
      this.#blank(specifier.start, next !== undefined && this.#is(next, ',') ? next.end : specifier.end);
    }
  }

  #classHead(node: AnyNode): void {
    const body = nodeIn(node, 'body');
    if (body === undefined) return;
    if (node.abstract === true) {
      const token = this.#tokenFrom(node.start);
      if (token !== undefined && this.#is(token, 'abstract')) this.#blank(token.start, token.end);
    }
    const [first] = nodesIn(node, 'implements');
    if (first === undefined) return;
    const keyword = this.#tokens[this.#indexFrom(first.start) - 1];
    if (keyword !== undefined) this.#blank(keyword.start, body.start);
  }

  #member(node: AnyNode): void {
    const key = nodeIn(node, 'key');
    if (key === undefined) return;
    let isFirst = true;
    for (let at = this.#indexFrom(node.start); ; at++) {
      const token = this.#tokens[at];
      if (token === undefined || token.start >= key.start) break;
      if (MODIFIER.test(this.#source.slice(token.start, token.end))) {
        // The rest must not continue the member before.
        const next = this.#tokens[at + 1];
        const mayContinue = isFirst && next !== undefined && /^[[*(]/.test(this.#source.slice(next.start, next.end));
        this.#blank(token.start, token.end, mayContinue ? ';' : '');
      } else isFirst = false;
    }
    if (node.type === 'MethodDefinition') {
      if (node.optional === true) this.#mark(node, 'key', '?');
      return;
    }
    this.#mark(node, 'key', node.optional === true ? '?' : '!');
  }

  /** `?` or `!` between a name and its type. */
  #mark(node: AnyNode, field: string, mark: string): void {
    const named = nodeIn(node, field);
    if (named === undefined) return;
    const isAnnotatedName = named.typeAnnotation !== undefined && field === 'id';
    const annotation = isAnnotatedName ? nodeIn(named, 'typeAnnotation') : nodeIn(node, 'typeAnnotation');
    const before = annotation?.start;
    const token = before === undefined ? this.#closed(named) : this.#tokens[this.#indexFrom(before) - 1];
    if (token !== undefined && token.start >= named.start && this.#is(token, mark)) this.#blank(token.start, token.end);
  }

  /** The token behind a key, and behind the bracket of one that is computed. */
  #closed(key: AnyNode): Token | undefined {
    const token = this.#tokenFrom(key.end);
    return token !== undefined && this.#is(token, ']') ? this.#tokenFrom(token.end) : token;
  }

  /** `a?` and `a?: T`: the mark belongs to the pattern. */
  #optionalMark(node: AnyNode): void {
    const annotation = nodeIn(node, 'typeAnnotation');
    const before = annotation?.start ?? node.end;
    const token = this.#tokens[this.#indexFrom(before) - 1];
    if (token !== undefined && token.start >= node.start && this.#is(token, '?')) this.#blank(token.start, token.end);
  }

  #thisParameter([first]: readonly unknown[]): void {
    if (!isNode(first) || first.type !== 'Identifier' || first.name !== 'this') return;
    const next = this.#tokenFrom(first.end);
    this.#blank(first.start, next !== undefined && this.#is(next, ',') ? next.end : first.end);
  }

  /** No line break may be before `=>` and behind `async`: brackets move to the other side of a type that has one. */
  #arrow(node: AnyNode): void {
    const returned = nodeIn(node, 'returnType');
    const close = returned && this.#tokens[this.#indexFrom(returned.start) - 1];
    if (returned !== undefined && close !== undefined && this.#hasLineBreak(close.start, returned.end))
      this.#blank(close.start, returned.end, '', ')');
    const generics = nodeIn(node, 'typeParameters');
    if (node.async === true && generics !== undefined && this.#hasLineBreak(generics.start, generics.end)) {
      const open = this.#tokenFrom(generics.end);
      if (open !== undefined && this.#is(open, '(')) this.#blank(generics.start, open.end, '(');
    }
  }

  #hasLineBreak(start: number, end: number): boolean {
    return LINE_BREAK.test(this.#source.slice(start, end));
  }

  #is({ start, end }: Token, text: string): boolean {
    return end - start === text.length && this.#source.startsWith(text, start);
  }

  #tokenFrom(index: number): Token | undefined {
    return this.#tokens[this.#indexFrom(index)];
  }

  /** The number of the first token that begins there or later. */
  #indexFrom(index: number): number {
    let low = 0;
    let high = this.#tokens.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#tokens[middle]?.start ?? index) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isTypeDeclaration(node: AnyNode): boolean {
  const { type } = node;
  if (DECLARATIONS.has(type) || node.declare === true) return true;
  switch (type) {
    case 'ImportDeclaration':
      return node.importKind === 'type';
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
    case 'ExportAllDeclaration': {
      const declaration = nodeIn(node, 'declaration');
      return node.exportKind === 'type' || (declaration !== undefined && isTypeDeclaration(declaration));
    }
    case 'MethodDefinition':
      return node.abstract === true || nodeIn(node, 'value')?.type === 'TSDeclareMethod';
    case 'PropertyDefinition':
    case 'AccessorProperty':
      return node.abstract === true;
    default:
      return false;
  }
}

function isPattern(type: string): boolean {
  return type === 'Identifier' || type === 'ObjectPattern' || type === 'ArrayPattern' || type === 'AssignmentPattern';
}

function* childrenOf(node: AnyNode): Generator<AnyNode, void> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield item;
    } else if (isNode(value)) yield value;
  }
}

function nodeIn(node: AnyNode, field: string): AnyNode | undefined {
  const value = node[field];
  return isNode(value) ? value : undefined;
}

function nodesIn(node: AnyNode, field: string): readonly AnyNode[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
